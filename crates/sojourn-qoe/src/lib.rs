//! What users make of it: measures of pictures that every pixel enters, and scores by formulas, the same on every
//! machine, in Python and in a page.

pub mod calls;
pub mod emodel;
pub mod emodel_wideband;
pub mod method;
pub mod neteq;
pub mod picture;
pub mod playout;
pub mod speech;
pub mod statistics;
pub mod voice;
pub mod web;
