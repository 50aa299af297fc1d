//! Files of models: a tree file, a forest file or Newick text.

use std::path::Path;

use super::file::in_files;
use super::format::{Input, InputKind};
use super::model_file::{self, ModelFile, decode_model};
use crate::error::{Error, Result};
use crate::measures::match_names;
use crate::model::Model;

in_files! {
    Model, decode_model,
    /// Writes the file of the tree ([`Tree::save`](crate::Tree::save)) or of the forest
    /// ([`Forest::save`](crate::Forest::save)) atomically.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
}

impl Model {
    /// Returns the bytes of the file that [`Model::save`] writes; equal models give equal bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        match self {
            Self::Tree(tree) => tree.to_bytes(),
            Self::Forest(forest) => forest.to_bytes(),
        }
    }

    /// Reads a model from our own format or from Newick text, where several trees make a forest of
    /// equal weights. The extension, or else the first bytes, tell the format. `names` are the
    /// points in order; the leaves of Newick text are matched to them.
    ///
    /// # Errors
    /// Errors of [`Model::load`] and [`Tree::from_newick_with`](crate::Tree::from_newick_with); the
    /// number of names differs from the number of points, or the names are those of the model in
    /// another order.
    pub fn read(path: impl AsRef<Path>, names: Option<&[String]>) -> Result<Self> {
        Ok(ModelFile::read(path, names)?.model)
    }
}

impl ModelFile {
    /// Reads a model as [`Model::read`] does, with the additional content of the file.
    pub fn read(path: impl AsRef<Path>, names: Option<&[String]>) -> Result<Self> {
        Input::open(path, InputKind::Model, None)?.model(names)
    }

    /// Decodes a model in our format and names its points; error messages name `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path, names: Option<&[String]>) -> Result<Self> {
        let file = model_file::decode(bytes, path)?;
        Ok(Self { model: named(file.model, names)?, ..file })
    }
}

/// Names the points of a model if `names` are given.
fn named(model: Model, names: Option<&[String]>) -> Result<Model> {
    let Some(names) = names else { return Ok(model) };
    // Different names rename the points; the model's own names in another order are an error.
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
            let input = Input::from_bytes("stdin", bytes, InputKind::Model, None).unwrap();
            assert_eq!(input.model(None).unwrap().model, model);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.nwk.gz");
        std::fs::write(&path, &zipped).unwrap();
        assert_eq!(Model::read(&path, None).unwrap(), model);
        std::fs::write(&path, &zipped[..zipped.len() - 9]).unwrap();
        assert!(matches!(Model::read(&path, None), Err(Error::Read { .. })));
        // Newick text is read with any extension or none.
        for name in ["nwk.gz", "a.txt.gz", "a"] {
            let path = folder.path().join(name);
            std::fs::write(&path, &zipped).unwrap();
            assert_eq!(Model::read(&path, None).unwrap(), model, "{name}");
        }
    }
}
