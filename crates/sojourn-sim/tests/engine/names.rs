//! Study files: what is said of a name that nobody knows, or of something else in its place.

use crate::study::error_with;

#[test]
fn a_table_for_a_name_is_called_one_and_the_names_are_all_said() {
    insta::assert_snapshot!(error_with("transport = \"cubic\"", "transport = { kind = \"cubic\" }"), @r#"
    study.toml:14:13: invalid type: table, expected one of `reno`, `newreno`, `cubic`, `cubic-rfc9438`, `bic`, `compound`, `ledbat`, `ledbat++`, `cubic-ns2`, `compound-ns2`, `ledbat-ns2`, `utp`, `bbr`, `bbr3`, `dctcp`, `prague`, `udp`
       |
    14 | transport = { kind = "cubic" }
       |             ^^^^^^^^^^^^^^^^^^
    "#);
    insta::assert_snapshot!(error_with("transport = \"cubic\"", "transport = { cubic = 1 }"), @"
    study.toml:14:13: invalid type: table, expected a name in quotes
       |
    14 | transport = { cubic = 1 }
       |             ^^^^^^^^^^^^^
    ");
    insta::assert_snapshot!(error_with("transport = \"cubic\"", "transport = \"vegas\""), @r#"
    study.toml:14:14: unknown variant `vegas`, expected one of `reno`, `newreno`, `cubic`, `cubic-rfc9438`, `bic`, `compound`, `ledbat`, `ledbat++`, `cubic-ns2`, `compound-ns2`, `ledbat-ns2`, `utp`, `bbr`, `bbr3`, `dctcp`, `prague`, `udp`
       |
    14 | transport = "vegas"
       |              ^^^^^
    "#);
}

#[test]
fn a_name_that_others_have_for_a_key_is_answered_with_ours() {
    insta::assert_snapshot!(error_with("transport = \"cubic\"", "congestion = \"cubic\""), @r#"
    study.toml:14:1: unknown field `congestion`, expected one of `name`, `source`, `transport`, `direction`, `count`, `rtt`, `start-within`, `start`, `stop`, `over`, `access`, `mss` and 22 more; did you mean `transport`?
       |
    14 | congestion = "cubic"
       | ^^^^^^^^^^
    "#);
}
