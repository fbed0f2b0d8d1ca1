//! The workbench: who may be visited now.
