//! Wire types of every Charter contract, their JSON Schemas, ids and error codes.
