//! What lapwing.h forbids, and the compiler finds: each file of tests/compile_fail is refused, with the
//! words beside it.

#[test]
fn what_would_be_misuse_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/*.rs");
}
