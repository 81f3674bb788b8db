// A search word that no page has is replaced with the most similar word of the pages, such as "fallback" for "fallbak".

// Insertions, deletions, replacements and swaps of two neighbours that turn one word into the other.
function edits(a, b) {
  let [before, row] = [[], Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}

// Words of headings are whole, and come first among equally similar ones; those of the text are stems.
function corrected(query, index, stemWord, ignored) {
  const stems = [...Object.keys(index.titleterms), ...Object.keys(index.terms)];
  const headings = Object.keys(index.alltitles).flatMap((title) => title.toLowerCase().match(/\p{Letter}{4,}/gu) ?? []);
  const known = [...new Set([...headings, ...stems])];
  return query.replace(/(?<![-\p{L}\p{N}_])\p{L}{4,}(?![\p{L}\p{N}_])/gu, (word) => {
    const lower = word.toLowerCase();
    const stem = stemWord(lower);
    if (ignored.has(lower) || stems.some((each) => each.includes(stem))) return word;
    let [best, least] = [word, lower.length < 8 ? 2 : 3];
    for (const each of known) {
      const count = Math.abs(each.length - lower.length) < least ? edits(lower, each) : least;
      if (count < least) [best, least] = [each, count];
    }
    return best;
  });
}

if (typeof Search !== "undefined") {
  const query = Search.query;
  Search.query = (text) => {
    const stemmer = new Stemmer();
    const better = corrected(text, Search._index, (word) => stemmer.stemWord(word), stopwords);
    if (better !== text) {
      const note = document.createElement("p");
      note.setAttribute("role", "status");
      note.textContent = `Results for “${better}” instead of “${text}”:`;
      Search.status.before(note);
    }
    query(better);
  };
}
