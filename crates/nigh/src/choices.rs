//! Choices that the user makes or that a model brings along: what is answered, and how it is learnt.

use crate::names::named;

named! {
    /// What a model has to answer.
    pub enum Task, "task" {
        /// Which of the missing edges exist?
        LinkPrediction = "link-prediction",
        /// What class is a node of?
        NodeClassification = "node-classification",
        /// Are two nodes of the same class?
        PairwiseNodeClassification = "pairwise-node-classification",
        /// Which edges does the graph have, judging by the representations alone?
        GraphReconstruction = "graph-reconstruction",
    }
}

impl Task {
    /// Whether it is about pairs of nodes, and not single nodes.
    pub fn is_about_pairs(self) -> bool {
        self != Task::NodeClassification
    }

    /// Reconstruction leaves features out, so that only structure counts.
    pub fn uses_features(self) -> bool {
        self != Task::GraphReconstruction
    }
}

named! {
    /// Which split of the data.
    pub enum SplitChoice, "split" {
        /// The one that comes with the data, if there is one and no counts per class are set.
        Given = "given",
        /// A random one for every seed.
        Random = "random",
    }
}

named! {
    /// Which training pairs message passing does not see.
    pub enum Masking, "kind of masking" {
        /// Those of each fold, the same folds in every epoch.
        Folds = "folds",
        /// Those of each batch: other folds in every epoch.
        Batch = "batch",
        /// None: every training edge is visible.
        None = "none",
    }
}

named! {
    /// Adam, and what weight decay changes in its steps.
    pub enum Optimizer, "optimizer" {
        /// The gradient: `g <- g + λ w`. What a weight loses then depends on how large its gradients are.
        Adam = "adam",
        /// The weight itself: `w <- w - η λ w` beside the step (AdamW, Loshchilov and Hutter), with the learning rate `η`.
        AdamW = "adamw",
    }
}

named! {
    /// How the learning rate changes in the course of a training.
    pub enum Schedule, "schedule" {
        /// It is multiplied by a factor once, after a given epoch.
        Step = "step",
        /// It follows half a cosine from its start to zero, over all epochs.
        Cosine = "cosine",
        /// It stays.
        Constant = "constant",
    }
}

impl Schedule {
    /// `(1 + cos(π p)) / 2`: the part of the learning rate that is left when a part `p` of the training is done.
    pub(crate) fn cosine(done: f64) -> f64 {
        (1.0 + (std::f64::consts::PI * done).cos()) / 2.0
    }
}
