// The order of search results: guides stand before records of measurements and decisions that have the same words.
var Scorer = {
  score: ([page, , , , score]) => {
    if (/^(how-to\/|coming-from\/|tutorial$)/.test(page)) return score + 8;
    if (/^(benchmarks|decisions|project)\b/.test(page)) return score - 4;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
