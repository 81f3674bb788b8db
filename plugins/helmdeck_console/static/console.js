// Everything here is a convenience: each screen works without it, except for live updates.
"use strict";

// Times in the reader's zone; the exact time is the title.
function localTimes(root) {
  for (const each of root.querySelectorAll("[data-form]")) {
    const { form, time } = each.dataset;
    const when = new Date(time || each.dateTime);
    if (isNaN(when)) continue;
    const isToday = when.toDateString() === new Date().toDateString();
    const clock = when.toLocaleTimeString("sv-SE");
    const day = when.toLocaleDateString("sv-SE");
    if (form === "moment") each.textContent = isToday ? clock : `${day} ${clock}`;
    else each.textContent = `${form === "day" ? `${day.slice(5)} ` : ""}${clock.slice(0, 5)}`;
  }
}

// Live parts are fetched again and replaced as a whole, and only if they differ; one request at a time.
function watch() {
  const first = document.getElementById("live");
  if (!first) return;
  let before = first.innerHTML;
  const lost = document.getElementById("lost");
  const report = (text) => {
    lost.textContent = `${text}; the figures are from before.`;
    lost.hidden = false;
  };
  let pending = null;
  let missed = 0;
  const refresh = async () => {
    const live = document.getElementById("live");
    if (pending) {
      missed += 1;
      report("The server has not answered yet");
      if (missed > 5) pending.abort();
      return;
    }
    if (document.hidden) return;
    pending = new AbortController();
    missed = 0;
    try {
      const response = await fetch(location.href, { headers: { "x-live": "1" }, redirect: "error", signal: pending.signal });
      if (response.status === 401) {
        lost.replaceChildren("The session has ended. ", Object.assign(document.createElement("a"), { href: "", textContent: "Sign in again" }));
        lost.hidden = false;
        clearInterval(timer);
        return;
      }
      if (!response.ok) throw new Error(`HTTP ${response.status}`);
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = page.getElementById("live");
      lost.hidden = true;
      if (!next) { location.reload(); return; }
      if (next.innerHTML === before) return;
      before = next.innerHTML;
      for (const open of live.querySelectorAll("details[open][id]")) {
        const same = next.querySelector(`#${CSS.escape(open.id)}`);
        if (same) same.open = true;
      }
      const scrolls = [...live.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      const focusable = () => [...live.querySelectorAll("a, button, summary, [tabindex]")];
      const focused = focusable().indexOf(document.activeElement);
      localTimes(next);
      live.replaceChildren(...next.childNodes);
      live.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolls[index] || 0; });
      if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
    } catch (error) {
      report(`The server does not answer (${error.message})`);
    } finally {
      pending = null;
    }
  };
  const timer = setInterval(refresh, 1000 * Number(first.dataset.live || 5));
}

function buttons() {
  for (const each of document.querySelectorAll("[data-copy]")) {
    if (!navigator.clipboard) continue;
    each.hidden = false;
    each.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.getElementById(each.dataset.copy).textContent);
      each.textContent = "Copied";
    });
  }
  for (const each of document.querySelectorAll("[data-confirm]")) {
    each.form.addEventListener("submit", (event) => { if (!confirm(each.dataset.confirm)) event.preventDefault(); });
  }
}

// Where a chart is wider than the screen, its newest bars are shown.
for (const each of document.querySelectorAll("[data-newest]")) each.scrollLeft = each.scrollWidth;
// A second click would replace the answer to the first, such as the secret of a new key, and run a request twice.
function sendOnce() {
  let sent = -Infinity;
  const note = document.createElement("p");
  note.className = "notice waiting";
  note.setAttribute("role", "status");
  note.textContent = "The server has not answered the first click yet. Esc stops waiting for it.";
  const reset = () => { sent = -Infinity; note.remove(); };
  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented || event.target.method !== "post") return;
    if (event.timeStamp < sent + 5000) {
      event.preventDefault();
      document.body.append(note);
    } else {
      sent = event.timeStamp;
      note.remove();
    }
  });
  // With Esc, the browser stops to load; a page that is shown again waits for nothing.
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
  window.addEventListener("pageshow", (event) => { if (event.persisted) reset(); });
}

watch();
localTimes(document);
buttons();
sendOnce();
