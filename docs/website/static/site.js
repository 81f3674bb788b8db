// A block that scrolls can be reached with the keyboard; others are no stop of the Tab key.
function markScrollable() {
  for (const block of document.querySelectorAll("pre, .table-wrapper")) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
    else block.removeAttribute("tabindex");
  }
}
addEventListener("DOMContentLoaded", markScrollable);
addEventListener("resize", markScrollable);
