// What a reader does with a page in a real browser: reads it without its script, sorts and filters
// it. Each number must be as computed, in colours with enough contrast.
#include "reports/testing/browser.h"

namespace ropewalk::report {
namespace {

/// The page without this project's script.
std::string scriptless(const std::string& page) {
  const std::size_t begin = page.find("<script>"), end = page.find("</script>", begin);
  if (begin == std::string::npos) throw std::logic_error("no script in the page");
  return page.substr(0, begin) + page.substr(end + std::string("</script>").size());
}

TEST_F(Browser, ReadsTheSameWithoutItsScript) {
  const std::string digest = with_helpers(
      "let h = 0; const text = document.body.innerText.replace(/Filter/, '').replace(/\\s+/g, '');"
      "for (const c of text) h = (h * 31 + c.codePointAt(0)) >>> 0;"
      "say('text', text.length > 5000, h);");
  // On a phone the heads of a table are shown only for sorting.
  const Look wide{.width = 1280};
  const std::string with = said(sample_page(), digest, wide);
  EXPECT_NE(with.find("text true"), std::string::npos) << with;
  EXPECT_EQ(said(scriptless(sample_page()), digest, wide), with);
  const std::string other = replaced(sample_page(), "<h2>Kernels</h2>", "<h2>Kernel</h2>");
  EXPECT_NE(said(other, digest, wide), with) << "the digest sees a letter";
}

TEST_F(Browser, SortsByMouseAndByKeyboard) {
  const std::string script = with_helpers(
      "const table = document.querySelector('table.ranks');"
      "const names = () => [...table.tBodies[0].rows].map(r => r.cells[1].dataset.v || '-').join();"
      "const head = [...table.tHead.rows[0].cells].find(c => /ns.token/.test(c.textContent));"
      "const button = head.querySelector('button');"
      "const before = names();"
      "button.click(); say('up', names(), head.ariaSort);"
      "button.click(); say('down', names(), head.ariaSort);"
      "button.click(); say('back', names() === before, head.ariaSort);"
      // Enter and the space bar press a native button that has the focus.
      "button.focus(); say('keys', document.activeElement === button, button.tabIndex,"
      "  button.type, getComputedStyle(button).outlineStyle);"
      "say('all', [...document.querySelectorAll('table.sortable thead th')]"
      "  .filter(h => h.textContent.trim() && !(h.ariaSort && "
      "h.querySelector('button'))).length);");
  const std::string said_by = said(sample_page(), script);
  for (const char* line : {"up ceiling_update,plain (twin),plain,elementwise,dense,- ascending",
                           "down dense,elementwise,plain (twin),plain,ceiling_update,- descending",
                           "back true none", "keys true 0 button", "all 0"})
    EXPECT_NE(said_by.find(line), std::string::npos) << line << "\n" << said_by;
  EXPECT_EQ(said(scriptless(sample_page()), with_helpers("say(document.querySelectorAll('button')"
                                                         ".length, 'buttons')"))
                    .find("0 buttons") == std::string::npos,
            false);
}

TEST_F(Browser, FiltersAndComesBack) {
  const std::string script = with_helpers(
      "const seen = () => [...document.querySelectorAll('[data-row]')]"
      "  .filter(r => r.offsetParent !== null);"
      "const all = seen().length, input = document.querySelector('input[type=search]');"
      "document.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}));"
      "say('focused', document.activeElement === input);"
      "input.value = 'elementwise set-16'; input.dispatchEvent(new Event('input'));"
      "say('rows', seen().every(r => /elementwise/.test(r.dataset.row)), seen().length,"
      "  document.querySelector('[role=status]').textContent.startsWith(seen().length + ' of '));"
      "input.value = 'nobody'; input.dispatchEvent(new Event('input')); say('none', seen().length);"
      "input.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));"
      "say('back', seen().length === all && all > 50, input.value === '');");
  const std::string said_by = said(sample_page(), script);
  for (const char* line : {"focused true", "rows true 2 true", "none 0", "back true true"})
    EXPECT_NE(said_by.find(line), std::string::npos) << line << "\n" << said_by;
}

/// Compares every row of a leaderboard with the JSON beside it, and every mark with its line.
std::string comparing_cells() {
  return with_helpers(
      "const cells = JSON.parse(document.getElementById('cells').textContent);"
      "const rows = [...document.querySelectorAll('tr[data-cell]')];"
      "say('cells', cells.length === rows.length, rows.length > 40);"
      "const printed = e => e ? e.textContent.replace(/,/g, '') : '';"
      // Half a unit of the last printed digit.
      "const half = text => 0.5 * 10 ** -(/^\\d+\\.(\\d+)/.exec(text) || ['', ''])[1].length;"
      "let wrong = 0, numbers = 0;"
      "rows.forEach((row, i) => {"
      "  const cell = cells[i], v = [...row.querySelectorAll('.value')];"
      "  const near = (e, x, slack = 0) => { ++numbers;"
      "    const text = printed(e), off = Math.abs(parseFloat(text) - x);"
      "    if (!(off <= half(text) + slack * x + 1e-12)) ++wrong; };"
      "  if (row.dataset.cell != i || !row.dataset.row.startsWith(cell.kernel)) ++wrong;"
      "  if (!row.dataset.row.endsWith(cell.outcome)) ++wrong;"
      "  if (cell.ns_per_token === undefined) { wrong += v.length; return; }"
      "  near(v[0], cell.ns_per_token); near(v[1], cell.percent_of_ceiling);"
      "  if (cell.ratio !== undefined) { near(v[2], cell.ratio);"
      "    const ends = row.cells[4].querySelector('.sub').textContent.split(' – ');"
      "    near({textContent: ends[0]}, cell.low); near({textContent: ends[1]}, cell.high);"
      "    const all = cell.rounds.flat().sort((a, b) => a - b), n = all.length;"
      "    near(v[2], n % 2 ? all[(n - 1) / 2] : Math.sqrt(all[n / 2 - 1] * all[n / 2]),"
      "      5e-5); }"  // the ratios of the rounds have five digits
      "});"
      "say('wrong', wrong, numbers > 100);"
      "for (const figure of document.querySelectorAll('#ratios figure')) {"
      "  const marks = [...figure.querySelectorAll('svg.wide use')].filter(u => "
      "!u.closest('defs') && getComputedStyle(u).color !== 'rgba(0, 0, 0, 0)');"
      "  say('marks', marks.length === figure.querySelectorAll('tbody tr').length); }");
}

TEST_F(Browser, EachCellIsItsJsonValueAndEachMarkALine) {
  const std::string said_by = said(sample_page(), comparing_cells());
  for (const char* line : {"cells true true", "wrong 0 true", "marks true"})
    EXPECT_NE(said_by.find(line), std::string::npos) << line << "\n" << said_by;
  EXPECT_EQ(said_by.find("marks false"), std::string::npos) << said_by;
  const std::string edited = replaced(sample_page(), "<span class=\"value\">341</span>",
                                      "<span class=\"value\">314</span>");
  EXPECT_NE(said(edited, comparing_cells()).find("wrong 1 true"), std::string::npos);
}

/// Measures the contrast of every text with its background (WCAG 2.1), the order of headings, and
/// the smallest letters.
std::string measuring_text() {
  return with_helpers(
      "const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);"
      "const light = c => { const [r, g, b] = rgb(c).map(v => { v /= 255;"
      "  return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });"
      "  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };"
      "const behind = e => { for (; e; e = e.parentElement) {"
      "  const c = getComputedStyle(e).backgroundColor, p = rgb(c);"
      "  if (p.length === 3 || p[3] > 0) return c; } return 'rgb(255,255,255)'; };"
      "let texts = 0, least = 99, smallest = 99;"
      "for (const e of document.body.querySelectorAll('*')) {"
      "  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;"
      "  if (e.closest('script, .hidden') || !e.getClientRects().length) continue;"
      "  const style = getComputedStyle(e), svg = e.closest('svg');"
      "  const a = light(svg ? style.fill : style.color), b = light(behind(e));"
      "  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);"
      "  ++texts; least = Math.min(least, ratio);"
      "  if (!svg) { smallest = Math.min(smallest, parseFloat(style.fontSize));"
      "    if (innerWidth < 500 && parseFloat(style.fontSize) < 15.9) say('small', e.className); }"
      // A sample of a colour counts as a picture, not as text: 3 (WCAG 2.1, 1.4.11).
      "  if (ratio < (e.matches('.swatch[aria-hidden]') ? 3 : 4.5))"
      "    say('faint', e.tagName, e.className, ratio.toFixed(2)); }"
      "let last = 0, skips = 0, first = 0;"
      "for (const h of document.querySelectorAll('h1,h2,h3,h4')) { const level = +h.tagName[1];"
      "  if (level > last + 1) ++skips; if (level === 1) ++first; last = level; }"
      "say('texts', texts > 300, 'headings', skips, first, 'smallest', smallest.toFixed(1));");
}

TEST_F(Browser, TextStandsOutAndHeadingsAreInOrder) {
  for (const bool dark : {false, true})
    for (const int width : {360, 1280}) {
      const std::string said_by =
          said(sample_page(), measuring_text(), {.width = width, .dark = dark});
      EXPECT_NE(said_by.find("texts true headings 0 1"), std::string::npos) << said_by;
      EXPECT_EQ(said_by.find("faint"), std::string::npos) << said_by;
      if (width == 360) {
        EXPECT_NE(said_by.find("smallest 16.0"), std::string::npos) << said_by;
      }
    }
  const std::string faint = replaced(sample_page(), "--muted: #5a6472", "--muted: #a9b0ba");
  EXPECT_NE(said(faint, measuring_text()).find("faint"), std::string::npos);
  const std::string skipped = replaced(sample_page(), "<h2>Kernels</h2>", "<h4>Kernels</h4>");
  EXPECT_EQ(said(skipped, measuring_text()).find("headings 0"), std::string::npos);
}

}  // namespace
}  // namespace ropewalk::report
