// Sorts and filters. Without this script the page is the same, in the report's order.
"use strict";
(() => {
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const make = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);

  // ---- sorting: a button in each column's head; up, down, back
  const numberIn = text => {
    const found = /^[^\d.-]{0,3}(-?(?:\d|\.(?=\d))[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)/i.exec(text);
    return found ? parseFloat(found[1].replace(/,/g, "")) : null;
  };
  // The sort key of a cell is its text without its rank and without the small print below it.
  const shown = cell => {
    const copy = cell.cloneNode(true);
    for (const small of all(".sub, small", copy)) small.remove();
    return copy.textContent;
  };
  const keyOf = (item, column) => {
    const cell = [...item.cells].find(each => each.colSpan === 1 && each.cellIndex === column);
    if (!cell) return null;
    const text = shown(cell).trim().replace(/^\d+\.\s/, "");
    if (text === "" || text === "–") return null;
    const number = numberIn(text);
    return number === null ? text.toLowerCase() : number;
  };
  const compare = (a, b) =>
    typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;

  const sortable = table => {
    if (!table.tHead || !table.tBodies[0].rows.length) return;
    const original = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    const sort = (column, direction) => {
      heads.forEach((head, i) => head.setAttribute("aria-sort", i === column ? direction : "none"));
      const order = original.map((item, at) => ({item, at, key: keyOf(item, column)}));
      if (direction !== "none")
        order.sort((a, b) => {
          if (a.key === null || b.key === null) return (a.key === null) - (b.key === null) || a.at - b.at;
          return compare(a.key, b.key) * (direction === "ascending" ? 1 : -1) || a.at - b.at;
        });
      const parent = original[0].parentNode;
      for (const {item} of order) parent.append(item);
    };
    heads.forEach((head, column) => {
      if (head.textContent.trim() === "") return;
      const button = make("button", {type: "button", className: "sort"});
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const now = head.getAttribute("aria-sort");
        sort(column, now === "none" ? "ascending" : now === "ascending" ? "descending" : "none");
      });
    });
  };
  document.documentElement.classList.add("scripted");
  all("table.sortable").forEach(sortable);

  // ---- filtering: every word must be in the row or in the head of its box
  const textOf = item => (item ? item.textContent.toLowerCase() : "");
  const boxes = all("[data-filter]").map(table => {
    const box = table.closest(".contest") ?? table;
    const board = box.closest(".board");
    return {
      box,
      head: textOf(box.querySelector("h4")) + textOf(board && board.querySelector("h3")),
      rows: (table.matches("details") ? [table] : all("tbody tr", table)).map(row => ({row, text: textOf(row)})),
    };
  });
  const status = make("span", {className: "found"});
  status.setAttribute("role", "status");
  const filter = text => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0, total = 0;
    for (const {box, head, rows} of boxes) {
      let any = false;
      for (const {row, text} of rows) {
        const fits = words.every(word => head.includes(word) || text.includes(word));
        row.hidden = !fits;
        any ||= fits;
        ++total;
        shown += fits;
      }
      box.hidden = !any;
    }
    for (const board of all("section.board"))
      board.hidden = all("[data-filter]", board).every(box => box.hidden);
    for (const more of all(".more")) more.open = words.length > 0;
    status.textContent = words.length ? `${shown} of ${total} rows` : "";
  };
  if (boxes.length) {
    const label = make("label", {className: "filter", textContent: "Filter "});
    const input = make("input", {type: "search", autocomplete: "off", spellcheck: false});
    input.placeholder = "kernel, workload, outcome";
    input.addEventListener("input", () => filter(input.value));
    input.addEventListener("keydown", event => {
      if (event.key === "Escape") filter(input.value = "");
    });
    label.append(input);
    document.addEventListener("keydown", event => {
      if (event.key !== "/" || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      input.focus();
    });
    const bar = make("div", {className: "tools"});
    bar.setAttribute("role", "search");
    bar.append(label, status);
    document.querySelector("nav").after(bar);
  }
})();
