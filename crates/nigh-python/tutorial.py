"""The tutorial, cell by cell: `python tutorial.py ../../docs/tutorial.ipynb` runs them and writes the notebook.

A line `# %%` begins code and `# %% [markdown]` begins text, as editors know them; `tests/test_tutorial.py` runs the code.
"""

from __future__ import annotations

import sys
from pathlib import Path

CELLS = '''
# %% [markdown]
# # From a DataFrame to predictions
#
# You have a table of who is linked with whom. Here it is made up: 300 people in six groups, who mostly know people of
# their own group. Ids are texts; any strings or integers do.
# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import nigh

warnings.simplefilter("ignore", nigh.Note)
random = np.random.default_rng(7)
people = pd.DataFrame({"id": [f"p{number:03}" for number in range(300)], "group": np.arange(300) % 6})
ends = random.integers(0, 300, (16_000, 2))
same = people.group.values[ends[:, 0]] == people.group.values[ends[:, 1]]
kept = ends[(same & (random.random(len(ends)) < 0.5)) | (random.random(len(ends)) < 0.03)]
friends = pd.DataFrame({"source": people.id.values[kept[:, 0]], "target": people.id.values[kept[:, 1]]})
friends.head()
# %% [markdown]
# ## A graph
#
# Two columns are edges. Features and labels come from any table with the same ids; here we know the group of half of
# the people.
# %%
known = people[random.random(len(people)) < 0.5].rename(columns={"group": "label"})
graph = nigh.Graph(friends, labels=known, name="friends")
graph
# %% [markdown]
# ## Who will be linked?
#
# Some edges are held out. Message passing never sees them, and the figure says how well the model finds them among pairs
# that are not linked. Three repeats, each with another split.
# %%
model = nigh.train(graph, epochs=60, repeats=3, seed=1, progress=False)
model
# %%
model.predict(node="p000", top=5).to_pandas()
# %%
curve = model.curve
fig, axis = plt.subplots(figsize=(5, 2.5))
axis.plot(curve["epoch"], curve["valid"], label="validation")
axis.plot(curve["epoch"], curve["test"], label="test")
axis.set(xlabel="epoch", ylabel=model.settings["metric"], title="learning curve")
axis.legend()
plt.show()
# %% [markdown]
# ## A map of the nodes
#
# `embed` gives a vector per node. Two directions of largest variance make a picture; colours are the groups, which this
# model has not seen.
# %%
vectors = nigh.train(graph, model="smp-linear", epochs=60, repeats=1, progress=False).embed()
centred = np.asarray(vectors) - np.asarray(vectors).mean(axis=0)
directions = np.linalg.svd(centred, full_matrices=False)[2][:2]
place = centred @ directions.T
group = people.set_index("id").group.loc[vectors.ids]
fig, axis = plt.subplots(figsize=(4, 4))
axis.scatter(place[:, 0], place[:, 1], c=group, cmap="tab10", s=10)
axis.set(xticks=[], yticks=[], title="vectors, in two directions")
plt.show()
# %% [markdown]
# ## Which group?
#
# The labels that we know train a classifier; it answers for everybody.
# %%
classifier = nigh.train(graph, "node-classification", epochs=60, repeats=3, progress=False)
found = pd.Series(classifier.predict(), index=graph.ids)
unknown = people[~people.id.isin(known.id) & people.id.isin(found.index)]
share = (found[unknown.id].astype(int).values == unknown.group.values).mean()
print(f"{100 * share:.0f} % of {len(unknown)} people without a label are put into their group")
# %% [markdown]
# ## Is it better than something simpler?
#
# The same splits for every model, and a test of whether differences are more than chance.
# %%
table = nigh.compare(graph, ["smp-proximity", "smp-linear", "sgc", "katz"], epochs=60, repeats=5, progress=False)
table
# %%
rows = table.to_pandas()
half = 2.776 * rows["std"] / np.sqrt(5)  # of a 95 % interval: Student's t with 4 degrees of freedom
fig, axis = plt.subplots(figsize=(5, 2.2))
axis.errorbar(rows["mean"], rows["model"], xerr=half, fmt="o", capsize=3)
axis.set(xlabel="mean over five splits, with a 95 % interval")
axis.invert_yaxis()
plt.show()
# %% [markdown]
# ## Keep it
#
# The folder is the one of the program: `nigh predict friends-model friends.csv --node p000` answers the same.
# %%
import tempfile

with tempfile.TemporaryDirectory() as folder:
    model.save(f"{folder}/friends-model")
    again = nigh.load(f"{folder}/friends-model", graph)
    print(again.predict(node="p000", top=3))
'''


def cells() -> list[tuple[str, str]]:
    """Kind and source of every cell."""
    found = []
    for block in ("\n" + CELLS).split("\n# %%")[1:]:
        head, _, source = block.partition("\n")
        if "markdown" in head:
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in source.strip().splitlines())
            found.append(("markdown", text))
        else:
            found.append(("code", source.strip()))
    return found


def write(path: Path) -> None:
    """Runs the cells and writes them with what they show."""
    import nbclient
    import nbformat
    from nbformat import v4

    new = {"markdown": v4.new_markdown_cell, "code": v4.new_code_cell}
    made = [new[kind](source, id=f"cell-{number}") for number, (kind, source) in enumerate(cells())]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = v4.new_notebook(cells=made, metadata={"kernelspec": kernel})
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    for cell in notebook.cells:
        # When a cell ran is not what it says.
        cell.metadata.clear()
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
