//! The public datasets by name: where they are published, what the paper's Table 1 says of them, and how they are read.

use super::{cache, coauthor, email, ogb, planetoid, ppi, unattributed};
use crate::dataset::Dataset;
use crate::error::{Error, Result};
use nigh_formats::digest::sha256;
use nigh_formats::published::{DatasetFile, Folders, Origin, Published};
use std::path::{Path, PathBuf};

/// A dataset that has a name and is read from files.
#[derive(Debug)]
pub struct NamedDataset {
    /// What users type.
    pub name: &'static str,
    /// The name of its folder, which several datasets may share.
    pub folder: &'static str,
    /// A line about it.
    pub about: &'static str,
    /// The files that the reader needs.
    pub files: &'static [DatasetFile],
    /// Where they are published; the terms are those of that place.
    pub origin: Origin,
    /// How the data are cleaned before training.
    pub cleaning: &'static str,
    /// Table 1 of the paper, if it is there.
    pub paper: Option<Counts>,
    /// What its origin says, if it is not.
    pub origin_counts: Option<Counts>,
    pub(super) read: fn(&Path) -> Result<Dataset>,
}

/// How large a dataset is. Zero stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Number of graphs.
    pub graphs: usize,
    /// Nodes over all graphs.
    pub nodes: usize,
    /// Undirected edges over all graphs.
    pub edges: usize,
    /// Features per node.
    pub features: usize,
    /// Classes.
    pub classes: usize,
}

impl Counts {
    /// The counts of a dataset that was loaded.
    pub fn of(dataset: &Dataset) -> Counts {
        let features = &dataset.samples[0].features;
        Counts {
            graphs: dataset.samples.len(),
            nodes: dataset.num_nodes(),
            edges: dataset.num_edges(),
            features: features.count(),
            classes: dataset.class_names.len(),
        }
    }
}

const PLANETOID: &str = "https://github.com/kimiyoung/planetoid/raw/master/data/";
const GNN_BENCHMARK: &str = "https://github.com/shchur/gnn-benchmark/raw/master/data/npz/";
/// SEAL's repository at the commit whose files have these checksums; it keeps some lists in one folder and some in another.
const SEAL_PYTHON: &str =
    "https://github.com/muhanzhang/SEAL/raw/ea2d4249cfed4c5a570538a939f90469957b5f94/Python/data/raw_data/";
const SEAL_MATLAB: &str =
    "https://github.com/muhanzhang/SEAL/raw/ea2d4249cfed4c5a570538a939f90469957b5f94/MATLAB/data/raw_data/";
const SEAL_ECOLI: &str =
    "https://github.com/muhanzhang/SEAL/raw/ea2d4249cfed4c5a570538a939f90469957b5f94/Python/data/raw_data/Ecoli.mat";

/// One of the eight graphs of SEAL's benchmark: its name and file, the length and checksum of the file, where it is
/// published, nodes and edges, what it is and how it is cleaned.
macro_rules! unattributed {
    ($name:literal, $file:literal, $bytes:literal, $sha256:literal, $origin:expr, $nodes:literal, $edges:literal,
     $about:literal, $cleaning:literal) => {
        NamedDataset {
            name: $name,
            folder: "unattributed",
            about: $about,
            files: &[DatasetFile { name: $file, bytes: $bytes, sha256: $sha256 }],
            origin: $origin,
            cleaning: $cleaning,
            paper: None,
            origin_counts: Some(Counts { graphs: 1, nodes: $nodes, edges: $edges, features: 0, classes: 0 }),
            read: |folder| unattributed::read(folder, $file, $name),
        }
    };
}

/// Every dataset of the paper that is not generated, one more of OGB, and the eight graphs of SEAL's benchmark.
pub const REGISTRY: &[NamedDataset] = &[
    NamedDataset {
        name: "cora",
        folder: "cora",
        about: "citations between papers, bags of words, label = topic",
        files: &[
            DatasetFile {
                name: "ind.cora.x",
                bytes: 22_119,
                sha256: "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            },
            DatasetFile {
                name: "ind.cora.tx",
                bytes: 148_025,
                sha256: "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            },
            DatasetFile {
                name: "ind.cora.allx",
                bytes: 257_305,
                sha256: "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            },
            DatasetFile {
                name: "ind.cora.y",
                bytes: 4_054,
                sha256: "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            },
            DatasetFile {
                name: "ind.cora.ty",
                bytes: 28_135,
                sha256: "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            },
            DatasetFile {
                name: "ind.cora.ally",
                bytes: 47_959,
                sha256: "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            },
            DatasetFile {
                name: "ind.cora.graph",
                bytes: 59_847,
                sha256: "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            },
            DatasetFile {
                name: "ind.cora.test.index",
                bytes: 5_000,
                sha256: "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
            },
        ],
        origin: Origin::Folder(PLANETOID),
        cleaning: "repeated links merged; features divided by their row sums",
        paper: Some(Counts { graphs: 1, nodes: 2_708, edges: 5_429, features: 1_433, classes: 7 }),
        origin_counts: None,
        read: |folder| planetoid::read(folder, "cora"),
    },
    NamedDataset {
        name: "citeseer",
        folder: "citeseer",
        about: "citations between papers, bags of words, label = topic",
        files: &[
            DatasetFile {
                name: "ind.citeseer.x",
                bytes: 31_087,
                sha256: "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            },
            DatasetFile {
                name: "ind.citeseer.tx",
                bytes: 260_321,
                sha256: "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            },
            DatasetFile {
                name: "ind.citeseer.allx",
                bytes: 595_021,
                sha256: "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            },
            DatasetFile {
                name: "ind.citeseer.y",
                bytes: 3_014,
                sha256: "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            },
            DatasetFile {
                name: "ind.citeseer.ty",
                bytes: 24_135,
                sha256: "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            },
            DatasetFile {
                name: "ind.citeseer.ally",
                bytes: 55_623,
                sha256: "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            },
            DatasetFile {
                name: "ind.citeseer.graph",
                bytes: 61_987,
                sha256: "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            },
            DatasetFile {
                name: "ind.citeseer.test.index",
                bytes: 5_000,
                sha256: "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
            },
        ],
        origin: Origin::Folder(PLANETOID),
        cleaning: "repeated links merged, self loops dropped; features divided by their row sums; 15 papers have neither features nor label",
        paper: Some(Counts { graphs: 1, nodes: 3_327, edges: 4_732, features: 3_703, classes: 6 }),
        origin_counts: None,
        read: |folder| planetoid::read(folder, "citeseer"),
    },
    NamedDataset {
        name: "pubmed",
        folder: "pubmed",
        about: "citations between papers, tf-idf, label = topic",
        files: &[
            DatasetFile {
                name: "ind.pubmed.x",
                bytes: 23_172,
                sha256: "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            },
            DatasetFile {
                name: "ind.pubmed.tx",
                bytes: 405_505,
                sha256: "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            },
            DatasetFile {
                name: "ind.pubmed.allx",
                bytes: 7_578_385,
                sha256: "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            },
            DatasetFile {
                name: "ind.pubmed.y",
                bytes: 854,
                sha256: "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            },
            DatasetFile {
                name: "ind.pubmed.ty",
                bytes: 12_135,
                sha256: "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            },
            DatasetFile {
                name: "ind.pubmed.ally",
                bytes: 224_739,
                sha256: "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            },
            DatasetFile {
                name: "ind.pubmed.graph",
                bytes: 471_808,
                sha256: "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            },
            DatasetFile {
                name: "ind.pubmed.test.index",
                bytes: 6_000,
                sha256: "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            },
        ],
        origin: Origin::Folder(PLANETOID),
        cleaning: "repeated links merged, self loops dropped; features divided by their row sums",
        paper: Some(Counts { graphs: 1, nodes: 19_717, edges: 44_338, features: 500, classes: 3 }),
        origin_counts: None,
        read: |folder| planetoid::read(folder, "pubmed"),
    },
    NamedDataset {
        name: "coauthor-cs",
        folder: "coauthor-cs",
        about: "joint papers of computer scientists, keywords, label = field",
        files: &[DatasetFile {
            name: "ms_academic_cs.npz",
            bytes: 12_835_626,
            sha256: "933c745734e78908c7eb77172a673fee0503f30e26e5a99b36814d88534c42e3",
        }],
        origin: Origin::Folder(GNN_BENCHMARK),
        cleaning: "counts of keywords set to 1, then divided by their row sums",
        paper: Some(Counts { graphs: 1, nodes: 18_333, edges: 81_894, features: 6_805, classes: 15 }),
        origin_counts: None,
        read: |folder| coauthor::read(folder, "coauthor-cs"),
    },
    NamedDataset {
        name: "coauthor-physics",
        folder: "coauthor-physics",
        about: "joint papers of physicists, keywords, label = field",
        files: &[DatasetFile {
            name: "ms_academic_phy.npz",
            bytes: 16_374_005,
            sha256: "e4d68468eba5fb8f6b280ffd406bd53e6e4295ba1dd2967d6fe99b978e4b3375",
        }],
        origin: Origin::Folder(GNN_BENCHMARK),
        cleaning: "counts of keywords set to 1, then divided by their row sums",
        paper: Some(Counts { graphs: 1, nodes: 34_493, edges: 247_962, features: 8_415, classes: 5 }),
        origin_counts: None,
        read: |folder| coauthor::read(folder, "coauthor-physics"),
    },
    NamedDataset {
        name: "email",
        folder: "email",
        about: "email within groups of departments, no features, label = department",
        files: &[
            DatasetFile {
                name: "email.txt",
                bytes: 192_698,
                sha256: "23e0ca0bce21a053025e78f7e9691ac9210ae806a0689bd5edff3c3bac572d4c",
            },
            DatasetFile {
                name: "email_labels.txt",
                bytes: 6_537,
                sha256: "91a089f21ee35eb224066456fa5322c8ad57c0f07b2da7a58a3220c72b5d54b5",
            },
        ],
        origin: Origin::Folder("https://github.com/JiaxuanYou/P-GNN/raw/master/data/"),
        cleaning: "links between groups of six departments left out, self loops dropped; components of more than 10 nodes are the graphs",
        paper: Some(Counts { graphs: 7, nodes: 1_005, edges: 25_571, features: 0, classes: 42 }),
        origin_counts: None,
        read: email::read,
    },
    NamedDataset {
        name: "ppi",
        folder: "ppi",
        about: "proteins in 24 tissues, gene sets as features",
        files: &[
            DatasetFile {
                name: "ppi-G.json",
                bytes: 31_684_076,
                sha256: "7b323bbb677de2538c0b4c17d13a1bf691af6e6d76946035b7649c6c2fce3013",
            },
            DatasetFile {
                name: "ppi-feats.npy",
                bytes: 22_777_680,
                sha256: "953149689098eed72c0154fb40a8fff4e634d34c5ad139c7ae9d601db1cad3d3",
            },
            DatasetFile {
                name: "ppi-id_map.json",
                bytes: 888_884,
                sha256: "5b9f264c242f3078a347f037839105e069739f404fe603c82ca19e2b8e45c04e",
            },
        ],
        origin: Origin::Archive("https://snap.stanford.edu/graphsage/ppi.zip"),
        cleaning: "self loops dropped; components of more than 10 nodes are the graphs; features 0 and 1 on a log scale, 0.1 added to all, divided by max(row sum, 1)",
        paper: Some(Counts { graphs: 24, nodes: 56_944, edges: 818_716, features: 50, classes: 0 }),
        origin_counts: None,
        read: ppi::read,
    },
    NamedDataset {
        name: "ogbl-ddi",
        folder: "ogbl-ddi",
        about: "interactions of drugs, no features, the split of OGB",
        files: &[
            DatasetFile {
                name: "raw/edge.csv.gz",
                bytes: 2_810_105,
                sha256: "b2c585f425f49b640ee5a3b451069124651ee0f2863a5b6ee6737a6b14c27a6e",
            },
            DatasetFile {
                name: "raw/num-node-list.csv.gz",
                bytes: 49,
                sha256: "8462870f1b8c5937c66600aeb460af98d4f9965639fcd30f72f97da95ab374e3",
            },
            DatasetFile {
                name: "raw/num-edge-list.csv.gz",
                bytes: 52,
                sha256: "52d2f0c08beb8817e8b42a95b5f110fd90028bd34fa6acef284847377d764d8a",
            },
            DatasetFile {
                name: "split/target/valid.pt",
                bytes: 3_998_900,
                sha256: "4a48348f01fad0980a5be269fff7ace300e963144eef22d5ec4fc9830df872ac",
            },
            DatasetFile {
                name: "split/target/test.pt",
                bytes: 3_888_772,
                sha256: "b45cfcf1695babf5a13e90bdf08988be23570ca76af0737f9d517e005ea7e297",
            },
        ],
        origin: Origin::Archive("https://snap.stanford.edu/ogb/data/linkproppred/ddi.zip"),
        cleaning: "none; the graph holds the training edges",
        paper: None,
        origin_counts: Some(Counts { graphs: 1, nodes: 4_267, edges: 1_067_911, features: 0, classes: 0 }),
        read: |folder| ogb::read(folder, "ogbl-ddi"),
    },
    NamedDataset {
        name: "ogbl-ppa",
        folder: "ogbl-ppa",
        about: "associations of proteins, 58 species as features, the split of OGB",
        // Checksums are unknown; the reader checks counts against the files' own.
        files: &[],
        origin: Origin::Archive("https://snap.stanford.edu/ogb/data/linkproppred/ppassoc.zip"),
        cleaning: "features divided by max(row sum, 1); the graph holds the training edges",
        paper: Some(Counts { graphs: 1, nodes: 576_289, edges: 30_326_273, features: 58, classes: 0 }),
        origin_counts: None,
        read: |folder| ogb::read(folder, "ogbl-ppa"),
    },
    unattributed!(
        "usair",
        "USAir.txt",
        55_276,
        "80dcddd8538a4dae5f9d60c91f84b10d59f6b0705baf04788e22c6660f51ad0b",
        Origin::Folder(SEAL_PYTHON),
        332,
        2_126,
        "flights between airports of the USA, no features",
        "weights left aside"
    ),
    unattributed!(
        "ns",
        "NS.txt",
        43_461,
        "2521bdae0f66bab156e82daaf1db7775cef75e7244c2bde4023adc7fa2081c23",
        Origin::Folder(SEAL_MATLAB),
        1_461,
        2_742,
        "joint papers of network scientists, no features",
        "weights left aside; the file does not name the 128 authors without a link"
    ),
    unattributed!(
        "pb",
        "PB.txt",
        160_121,
        "6bce5de253c734604fe3395eb01ef02fad358314a4c67afdb628eac974e8a653",
        Origin::Folder(SEAL_PYTHON),
        1_222,
        16_714,
        "links between blogs on politics, no features",
        "links in both directions merged"
    ),
    unattributed!(
        "yeast",
        "Yeast.txt",
        110_704,
        "a4c68da26c7692535735d1fdd5557550ce11ce11cb71afa00448111b8bc51b5d",
        Origin::Folder(SEAL_PYTHON),
        2_375,
        11_693,
        "interactions of proteins in yeast, no features",
        "none"
    ),
    unattributed!(
        "celegans",
        "Celegans.txt",
        16_535,
        "386a62a23faea46584188a05e190010cd7b317021dfe3e2948fe0fb8411a7ca9",
        Origin::Folder(SEAL_MATLAB),
        297,
        2_148,
        "neurons of the worm C. elegans, no features",
        "repeated links and links in both directions merged"
    ),
    unattributed!(
        "power",
        "Power.txt",
        69_598,
        "068e3413a03be675bfbc6103ae1d47ef01c6c14ece0c437d56c48a9eee065c7c",
        Origin::Folder(SEAL_PYTHON),
        4_941,
        6_594,
        "the power grid of the western USA, no features",
        "none"
    ),
    unattributed!(
        "router",
        "Router.txt",
        66_783,
        "f4f776efc88b0de5ce5358b17a7d1718445ae0dc99f42de8d33302d27e0883b5",
        Origin::Folder(SEAL_PYTHON),
        5_022,
        6_258,
        "routers of the internet, no features",
        "none"
    ),
    unattributed!(
        "ecoli",
        "Ecoli.txt",
        122_512,
        "0918b1741905d3563b69b609124110753f7095093833caaa9af5e55aba40ee15",
        Origin::Converted(SEAL_ECOLI),
        1_805,
        14_660,
        "metabolites of E. coli that react with each other, no features",
        "converted from a matrix of MATLAB: a line per link, ids counted from 1"
    ),
];

impl From<&NamedDataset> for Published {
    fn from(known: &NamedDataset) -> Published {
        let &NamedDataset { name, folder, files, origin, .. } = known;
        Published { name, folder, files, origin }
    }
}

impl NamedDataset {
    /// The dataset of a name.
    pub fn named(name: &str) -> Option<&'static NamedDataset> {
        REGISTRY.iter().find(|known| known.name == name)
    }

    /// Reads the dataset from its own folder, without a cache.
    pub fn read_from(&self, folder: &Path) -> Result<Dataset> {
        (self.read)(folder)
    }

    /// Reads the dataset from one of the folders. The first time it is converted to one compact file in the user's cache, if
    /// that can be written; from then on it is read from there.
    pub fn load(&self, folders: &Folders) -> Result<Dataset> {
        let folder = folders.require(self)?;
        let Some(compact) = self.compact(folders) else { return (self.read)(&folder) };
        let fingerprint = fingerprint(&folder)?;
        if let Some(dataset) = cache::read(&compact, &fingerprint) {
            return Ok(dataset);
        }
        let dataset = (self.read)(&folder)?;
        // Without a cache everything still works, only slower.
        if compact.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok()) {
            let _ = cache::write(&compact, &fingerprint, &dataset);
        }
        Ok(dataset)
    }

    /// The path of the converted copy.
    pub fn compact(&self, folders: &Folders) -> Option<PathBuf> {
        folders.cache().map(|cache| cache.join("compact").join(format!("{}.nigh", self.name)))
    }

    /// The length of all files together, where it is known.
    pub fn bytes(&self) -> Option<u64> {
        (!self.files.is_empty()).then(|| self.files.iter().map(|file| file.bytes).sum())
    }
}

/// Names, lengths and times of all files below a folder: when one changes, what was converted is converted again.
fn fingerprint(folder: &Path) -> Result<String> {
    let mut text = format!("nigh {}\n", env!("CARGO_PKG_VERSION"));
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
        let mut entries = entries.map_err(Error::io(&folder))?;
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let path = entry.path();
            let metadata = std::fs::metadata(&path).map_err(Error::io(&path))?;
            if metadata.is_dir() {
                folders.push(path);
            } else {
                text += &format!("{} {} {:?}\n", path.display(), metadata.len(), metadata.modified().ok());
            }
        }
    }
    Ok(sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_encrypted() {
        for known in REGISTRY {
            let address = known.origin.address();
            assert!(address.starts_with("https://"), "{}", known.name);
            assert_eq!(address.ends_with('/'), matches!(known.origin, Origin::Folder(_)), "{address}");
        }
    }
}
