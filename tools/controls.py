"""Whether invented questions sound different from real ones: `python tools/controls.py [data/facts]`.

Who knows the real ones cannot be asked, and a language model knows them. So a classifier that knows nothing is asked:
logistic regression on words and letters of question and passage, names and numbers masked, cross-validated on all
controls and as many real questions of the band `obscure`, domain by domain, drawn anew in each repeat. 0.5 is chance.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline, make_union

REPEATS, SHOWN = 20, 15
_WORD = re.compile(r"[^\W\d_][\w'’-]*")


def masked(texts: pd.Series[str]) -> pd.Series[str]:
    """A word is a name, where it never stands in small letters: `N`. Digits are `0`."""
    small = {word for text in texts for word in _WORD.findall(text) if word.islower()}
    named = texts.str.replace(_WORD, lambda word: word[0] if word[0].lower() in small else "N", regex=True)
    return named.str.replace(r"\d[\d.,]*", "0", regex=True)


def main(folder: Path) -> None:
    rows = pd.read_csv(folder / "facts.csv", dtype=str, keep_default_na=False)
    rows = rows.assign(text=masked(rows["question"] + " | " + rows["context"]))
    controls, obscure = (rows[rows["fame_band"] == band] for band in ("invented", "obscure"))
    words = TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\w+|[.,;:|]", sublinear_tf=True)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True)
    classifier = make_pipeline(make_union(words, letters), LogisticRegression(C=10, max_iter=1000))
    right, weights = [], []
    for seed in range(REPEATS):
        sizes = controls["domain"].value_counts()
        real = [of.sample(sizes[domain], random_state=seed) for domain, of in obscure.groupby("domain")]
        both = pd.concat([controls, *real])
        invented = (both["fame_band"] == "invented").to_numpy()
        strata = both["domain"] + both["fame_band"]
        folds = [*StratifiedKFold(5, shuffle=True, random_state=seed).split(both, strata)]
        right.append(np.mean(cross_val_predict(classifier, both["text"], invented, cv=folds) == invented))
        fitted = LogisticRegression(C=10, max_iter=1000).fit(words.fit_transform(both["text"]), invented)
        weights.append(pd.Series(fitted.coef_[0], words.get_feature_names_out()))
    low, high = np.percentile(right, [2.5, 97.5])
    told = f"{np.mean(right):.2f} told right, {low:.2f} to {high:.2f} in {REPEATS} draws"
    print(f"{len(controls)} controls and as many real ones: {told}")
    mean = pd.concat(weights, axis=1).fillna(0).mean(axis=1).sort_values()
    print("of controls: " + ", ".join(mean.index[::-1][:SHOWN]) + "\nof real ones: " + ", ".join(mean.index[:SHOWN]))


if __name__ == "__main__":
    main(Path(*(sys.argv[1:] or ["data/facts"])))
