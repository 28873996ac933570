"""
Missing pixels in a picture
===========================

A photograph of which a third of the pixels is left.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

import rankfill as rf

photo = load_sample_image("china.jpg")[60:188, 250:410]
missing = np.random.default_rng(0).random(photo.shape[:2]) < 0.65
damaged = np.where(missing[..., None], 0, photo).astype(np.uint8)

# %%
# The default looks for squares that are alike and fills each group as a table with holes. Any model of
# ratings works as well, on the picture as one matrix; that is much coarser.
restored = {
    "factor analysis of squares": rf.images.inpaint(damaged, missing),
    "ALS on the whole picture": rf.images.inpaint(damaged, missing, model="als"),
}
for name, picture in restored.items():
    print(f"{name:27} {rf.images.psnr(photo, picture):.1f} dB")

# %%
figure, all_axes = plt.subplots(2, 2, figsize=(7.5, 6.2), layout="constrained")
for axes, (name, picture) in zip(
    all_axes.flat, {"original": photo, "65 % missing": damaged, **restored}.items(), strict=True
):
    axes.imshow(picture)
    axes.set(title=name, xticks=[], yticks=[])
