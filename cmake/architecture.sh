#!/bin/sh
# Prints docs/architecture.svg, the rooms of the house and which includes which, drawn from the
# #include lines of the tree: cmake/architecture.sh SOURCE_DIR
#
# A box is a folder of sources. Tests, fuzzers and the stand-alone example are left out. Only arrows
# that do not follow from others are drawn; <desc> has them all. A circle of includes fails.
set -eu
export LC_ALL=C
cd "$1"
folders=$(for readme in */README.md; do dirname "$readme"; done)
# shellcheck disable=SC2086,SC2046
awk '
  function room_of(file) { sub(/\/[^\/]*$/, "", file); return file }
  function folder_of(room) { sub(/\/.*$/, "", room); return room }
  # The longest way down from a node of the graph `arrow`; nodes are numbered words of `list`.
  function height(node, list, count,    i, h, best) {
    if (node in known_height) return known_height[node]
    if (node in on_way) { print "a circle of includes at " node > "/dev/stderr"; broken = 1; exit 1 }
    on_way[node] = 1
    best = 0
    for (i = 1; i <= count; ++i)
      if ((node, list[i]) in arrow) { h = 1 + height(list[i], list, count); if (h > best) best = h }
    delete on_way[node]
    return known_height[node] = best
  }
  # Whether an arrow from one node to another follows from longer ways.
  function follows(from, to, list, count,    i) {
    for (i = 1; i <= count; ++i)
      if (list[i] != to && (from, list[i]) in arrow && leads(list[i], to, list, count)) return 1
    return 0
  }
  function leads(from, to, list, count,    i) {
    if ((from, to) in arrow) return 1
    if ((from, to) in known_lead) return known_lead[from, to]
    known_lead[from, to] = 0
    for (i = 1; i <= count; ++i)
      if ((from, list[i]) in arrow && leads(list[i], to, list, count)) return known_lead[from, to] = 1
    return 0
  }
  function wrapped(names, width,    words, count, i, line, text) {
    count = split(names, words, " ")
    for (i = 1; i <= count; ++i) {
      if (line != "" && (length(line) + length(words[i]) + 2) * 7.4 > width) {
        text = text line "\n"
        line = ""
      }
      line = line (line == "" ? "" : ", ") words[i]
    }
    return text line
  }
  # An arrow from a box to one below it, upright where the boxes lie over each other.
  function line_down(x1, w1, y1, x2, w2, y2, kind,    from, to) {
    from = x1 > x2 ? x1 : x2
    to = x1 + w1 < x2 + w2 ? x1 + w1 : x2 + w2
    x1 = x1 + w1 / 2; x2 = x2 + w2 / 2
    if (to > from) x1 = x2 = (from + to) / 2
    printf "<path class=\"%s\" marker-end=\"url(#%s)\"", kind, kind
    printf " d=\"M%d %dL%d %d\"/>\n", x1, y1, x2, y2
  }
  function drawn(from, to, list, count) {
    return (from, to) in arrow && !follows(from, to, list, count)
  }
  function inside_one(i, j) {
    return (rooms[i], rooms[j]) in arrow && folder_of(rooms[i]) == folder_of(rooms[j])
  }

  function rectangle(kind, x, y, w, h) {
    printf "<g class=\"%s\"><rect x=\"%d\" y=\"%d\"", kind, x, y
    printf " width=\"%d\" height=\"%d\" rx=\"5\"/>", w, h
  }

  BEGIN { for (i = 1; i < ARGC; ++i) present[ARGV[i]] = 1 }
  FNR == 1 {
    room = room_of(FILENAME); folder = folder_of(room)
    if (!(room in room_seen)) { room_seen[room] = 1; rooms[++room_count] = room }
    if (!(folder in folder_seen)) { folder_seen[folder] = 1; tops[++top_count] = folder }
  }
  /^#include "/ {
    split($0, parts, "\"")
    target = room_of(parts[2])
    if (!(parts[2] in present) || target == room) next
    arrow[room, target] = 1
    if (folder_of(target) != folder) arrow[folder "/", folder_of(target) "/"] = 1
  }
  END {
    if (broken || room_count == 0) exit 1
    wide = 480; margin = 8; gap = 18; line_height = 16
    for (i = 1; i <= top_count; ++i) roofs[i] = tops[i] "/"
    for (i = 1; i <= room_count; ++i) height(rooms[i], rooms, room_count)
    for (i = 1; i <= top_count; ++i) {
      floor[i] = height(roofs[i], roofs, top_count)
      if (floor[i] > highest) highest = floor[i]
    }

    # Rooms of one folder in which all arrows are alike share a box.
    for (i = 1; i <= room_count; ++i) {
      mark = folder_of(rooms[i]) (rooms[i] ~ /\// ? "" : "/")
      for (j = 1; j <= room_count; ++j) {
        if (drawn(rooms[i], rooms[j], rooms, room_count)) mark = mark ">" j
        if (drawn(rooms[j], rooms[i], rooms, room_count)) mark = mark "<" j
      }
      label = rooms[i]
      if (!sub(/^[^\/]*\//, "", label)) label = label "/*"
      if (mark in box_of_mark) b = box_of_mark[mark]
      else {
        b = box_of_mark[mark] = ++box_count
        first_room[b] = i
        box_folder[b] = folder_of(rooms[i])
      }
      names[b] = names[b] (names[b] == "" ? "" : " ") label
      box_of[i] = b
    }
    # The row of a box in its folder, from below: as high as its includers let it stand.
    for (i = 1; i <= room_count; ++i) inner[i] = 0
    for (pass = 1; pass <= room_count; ++pass)
      for (i = 1; i <= room_count; ++i)
        for (j = 1; j <= room_count; ++j)
          if (inside_one(i, j) && inner[i] <= inner[j]) inner[i] = inner[j] + 1
    for (pass = 1; pass <= room_count; ++pass)
      for (j = 1; j <= room_count; ++j) {
        low = -1
        for (i = 1; i <= room_count; ++i)
          if (inside_one(i, j) && (low < 0 || inner[i] < low)) low = inner[i]
        if (low > 0 && low - 1 > inner[j]) inner[j] = low - 1
      }
    for (b = 1; b <= box_count; ++b) {
      row = inner[first_room[b]]
      f = box_folder[b]
      place[b] = ++in_row[f, row]
      if (in_row[f, row] > widest[f]) widest[f] = in_row[f, row]
      if (row + 1 > row_count[f]) row_count[f] = row + 1
    }

    # From the highest floor down: folders of a floor side by side, as wide as they have rooms.
    y = margin
    for (level = highest; level >= 0; --level) {
      sum = count = 0
      for (i = 1; i <= top_count; ++i) {
        if (floor[i] != level) continue
        sum += widest[tops[i]]
        # Below those that include it: insertion by the mean of their middles.
        middle = number = 0
        for (j = 1; j <= top_count; ++j)
          if (drawn(roofs[j], roofs[i], roofs, top_count)) {
            middle += left[tops[j]] + across[tops[j]] / 2
            ++number
          }
        mean[i] = number ? middle / number : 0
        for (k = ++count; k > 1 && mean[row_of[k - 1]] > mean[i]; --k) row_of[k] = row_of[k - 1]
        row_of[k] = i
      }
      x = margin
      tallest = 0
      for (k = 1; k <= count; ++k) {
        f = tops[row_of[k]]
        left[f] = x; top[f] = y
        across[f] = (wide - 2 * margin - (count - 1) * 12) * widest[f] / sum
        inside = y + 28
        for (row = row_count[f] - 1; row >= 0; --row) {
          lines = 1
          each = (across[f] - 12) / in_row[f, row]
          for (b = 1; b <= box_count; ++b) {
            if (box_folder[b] != f || inner[first_room[b]] != row) continue
            text[b] = wrapped(names[b], each - 18)
            n = split(text[b], ignored, "\n")
            if (n > lines) lines = n
          }
          for (b = 1; b <= box_count; ++b) {
            if (box_folder[b] != f || inner[first_room[b]] != row) continue
            bx[b] = x + 6 + (place[b] - 1) * each + 5; bw[b] = each - 10
            by[b] = inside; bh[b] = lines * line_height + 10
          }
          inside += lines * line_height + 10 + gap
        }
        tall[f] = inside - gap + 10 - y
        if (tall[f] > tallest) tallest = tall[f]
        x += across[f] + 12
      }
      for (i = 1; i <= top_count; ++i) if (floor[i] == level) tall[tops[i]] = tallest
      y += tallest + 30
    }
    y += margin - 30

    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", wide, y
    printf " viewBox=\"0 0 %d %d\"", wide, y
    print " role=\"img\" aria-labelledby=\"title desc\">"
    print "<title id=\"title\">The rooms of Ropewalk: an arrow leads to what is included</title>"
    print "<desc id=\"desc\">"
    for (i = 1; i <= room_count; ++i) {
      said = ""
      for (j = 1; j <= room_count; ++j)
        if ((rooms[i], rooms[j]) in arrow) said = said (said == "" ? "" : ", ") rooms[j]
      print rooms[i] " includes " (said == "" ? "nothing" : said) "."
    }
    print "</desc>"
    print "<style>"
    print "text{font:14px system-ui,sans-serif;fill:#1b2430;text-anchor:middle}"
    print ".folder text{font-weight:600;text-anchor:start}.page{fill:#fff}"
    print ".folder rect{fill:#eef2f7;stroke:#8593a5}"
    print ".room rect{fill:#fff;stroke:#3c6ea5}path{fill:none}.in{stroke:#3c6ea5;stroke-width:1.5}"
    print ".down{stroke:#1b2430;stroke-width:2.5}#in path{fill:#3c6ea5}#down path{fill:#1b2430}"
    print "@media(prefers-color-scheme:dark){text{fill:#e8edf3}.page{fill:#12171e}"
    print ".folder rect{fill:#1d2630;stroke:#66768a}.room rect{fill:#12171e;stroke:#79aee6}"
    print ".in{stroke:#79aee6}.down{stroke:#e8edf3}#in path{fill:#79aee6}#down path{fill:#e8edf3}}"
    print "</style>"
    for (i = split("in down", kinds, " "); i >= 1; --i) {
      printf "<marker id=\"%s\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" orient=\"auto\"", kinds[i]
      size = i == 1 ? 6 : 5
      printf " markerWidth=\"%d\" markerHeight=\"%d\"><path d=\"M0 0L8 4L0 8z\"/></marker>\n", size, size
    }
    printf "<rect class=\"page\" width=\"%d\" height=\"%d\"/>\n", wide, y
    for (i = 1; i <= top_count; ++i)
      for (j = 1; j <= top_count; ++j)
        if (drawn(roofs[i], roofs[j], roofs, top_count)) {
          f = tops[i]; t = tops[j]
          line_down(left[f], across[f], top[f] + tall[f], left[t], across[t], top[t], "down")
        }
    for (i = 1; i <= top_count; ++i) {
      f = tops[i]
      rectangle("folder", left[f], top[f], across[f], tall[f])
      printf "<text x=\"%d\" y=\"%d\">%s</text></g>\n", left[f] + 10, top[f] + 19, f
    }
    for (i = 1; i <= room_count; ++i)
      for (j = 1; j <= room_count; ++j) {
        b = box_of[i]; c = box_of[j]
        if (i != first_room[b] || j != first_room[c] || box_folder[b] != box_folder[c]) continue
        if (drawn(rooms[i], rooms[j], rooms, room_count))
          line_down(bx[b], bw[b], by[b] + bh[b], bx[c], bw[c], by[c], "in")
      }
    for (b = 1; b <= box_count; ++b) {
      rectangle("room", bx[b], by[b], bw[b], bh[b])
      n = split(text[b], lines_of, "\n")
      for (k = 1; k <= n; ++k)
        printf "<text x=\"%d\" y=\"%d\">%s</text>", bx[b] + bw[b] / 2,
          by[b] + bh[b] / 2 + 5 + (k - (n + 1) / 2) * line_height, lines_of[k]
      print "</g>"
    }
    print "</svg>"
  }' $(find $folders \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' \) \
         ! -name '*_test.cpp' ! -path '*/test*/*' ! -path '*/fuzz/*' ! -path 'kernels/example/*' | sort)
