//! Models in files: a tree's file, a forest's, or Newick text by its name.

use std::path::Path;

use super::file::in_files;
use super::format::{Input, Wanted};
use super::model_file::{self, ModelFile, decode_model};
use crate::columns::match_names;
use crate::error::{Error, Result};
use crate::model::Model;

in_files! {
    Model, decode_model,
    /// Writes the file of the tree ([`Tree::save`](crate::Tree::save)) or of the forest ([`Forest::save`](crate::Forest::save)), whole or
    /// not at all.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
}

impl Model {
    /// The bytes of the file that [`Model::save`] writes; the same model gives the same bytes.
    ///
    /// # Errors
    /// The names take more than the 100 MB a header may have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Tree(tree) => tree.to_bytes(),
            Self::Forest(forest) => forest.to_bytes(),
        }
    }

    /// Reads a model whatever it is in: our own file, or Newick text, where several trees make a forest
    /// of equal weights. The name of the file tells, or else its first bytes. `names` are the points in
    /// their order, to which the leaves of Newick text are matched.
    ///
    /// # Errors
    /// As [`Model::load`] and [`Tree::from_newick_with`](crate::Tree::from_newick_with); names of another number than the points, or
    /// the names that the model has in another order.
    pub fn read(path: impl AsRef<Path>, names: Option<&[String]>) -> Result<Self> {
        Ok(ModelFile::read(path, names)?.model)
    }
}

impl ModelFile {
    /// As [`Model::read`], with whatever else the file holds.
    ///
    /// # Errors
    /// As [`Model::read`].
    pub fn read(path: impl AsRef<Path>, names: Option<&[String]>) -> Result<Self> {
        Input::open(path, Wanted::Model, None)?.model(names)
    }

    /// The model in the bytes of a file of ours called `path`, with names for its points.
    pub(crate) fn decode(bytes: &[u8], path: &Path, names: Option<&[String]>) -> Result<Self> {
        let file = model_file::decode(bytes, path)?;
        Ok(Self { model: named(file.model, names)?, ..file })
    }
}

/// A model with names for its points, where there are any.
fn named(model: Model, names: Option<&[String]>) -> Result<Model> {
    let Some(names) = names else { return Ok(model) };
    // Other names are other words for the same points; the same names in another order are not.
    let own = model.names().unwrap_or_default();
    if own != names && own.len() == names.len() && match_names(names, own).is_ok() {
        let differ = own.iter().zip(names).position(|(own, given)| own != given);
        let (point, given) = differ.map_or((0, &own[0]), |point| (point, &names[point]));
        let reason = format!(
            "the model calls point {point} `{}`, and here it is `{given}`; give them in its order",
            own[point]
        );
        return Err(Error::UnmatchedNames { reason });
    }
    model.with_names(names.to_vec())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn models_are_read_from_bytes_and_from_gzip() {
        let text = "((a:1,b:1):2,c:3);";
        let model = Model::from_newick(text, None).unwrap();
        let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        zipped.write_all(text.as_bytes()).unwrap();
        let zipped = zipped.finish().unwrap();
        for bytes in [text.as_bytes(), &zipped, &model.to_bytes().unwrap()] {
            let input = Input::from_bytes("stdin", bytes, Wanted::Model, None).unwrap();
            assert_eq!(input.model(None).unwrap().model, model);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nwk.gz");
        std::fs::write(&path, &zipped).unwrap();
        assert_eq!(Model::read(&path, None).unwrap(), model);
        std::fs::write(&path, &zipped[..zipped.len() - 9]).unwrap();
        assert!(matches!(Model::read(&path, None), Err(Error::Read { .. })));
        // Neither the ending nor its absence keeps Newick text from being read.
        for name in ["nwk.gz", "a.txt.gz", "a"] {
            let path = folder.path().join(name);
            std::fs::write(&path, &zipped).unwrap();
            assert_eq!(Model::read(&path, None).unwrap(), model, "{name}");
        }
    }
}
