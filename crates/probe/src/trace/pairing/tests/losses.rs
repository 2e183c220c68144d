//! Records that were lost: what is undecided, and until when.

use super::*;

#[test]
fn what_a_loss_covers_is_undecided_from_what_was_open_on() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.push(12, OWN, exit(1));
    pairing.push(20, OWN, switch(OWN, 7));
    pairing.push(30, 7, enter(1));
    pairing.lose(5);
    pairing.lose(6);
    pairing.push(90, OWN, enter(2));
    pairing.push(95, OWN, exit(2));
    let records = pairing.spans()[0].records;
    let (intervals, spans) = done(pairing);
    // The task ran until the last record at least.
    assert_eq!(intervals, [(10, 12, 1), (20, 30, 7), (90, 95, 2)]);
    assert_eq!((spans, records), (vec![(30, 90)], 11));
}

#[test]
fn no_task_reaches_into_what_was_open_at_a_loss() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(20, OWN, switch(OWN, 7));
    pairing.push(30, 7, enter(1));
    pairing.push(32, 7, enter(2));
    pairing.push(34, 7, exit(2));
    pairing.lose(5);
    pairing.push(90, OWN, enter(3));
    pairing.push(95, OWN, exit(3));
    let (intervals, spans) = done(pairing);
    assert_eq!(intervals, [(20, 30, 7), (32, 34, 2), (90, 95, 3)]);
    assert_eq!(spans, [(30, 90)]);
}

#[test]
fn after_a_loss_another_task_is_unknown_until_it_goes() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.lose(1);
    pairing.push(50, 7, enter(2));
    pairing.push(55, 7, exit(2));
    pairing.push(60, 7, exit(1));
    pairing.push(70, 7, switch(7, OWN));
    pairing.push(80, OWN, enter(3));
    pairing.push(85, OWN, exit(3));
    let (intervals, spans) = done(pairing);
    assert_eq!(intervals, [(50, 55, 2), (80, 85, 3)]);
    assert_eq!(spans, [(10, 70)]);
}

#[test]
fn a_loss_at_the_end_has_no_end() {
    let mut pairing = Pairing::new(OWN, false, PIECE_NS);
    pairing.push(10, OWN, enter(1));
    pairing.push(20, OWN, exit(1));
    pairing.lose(3);
    assert_eq!(done(pairing), (vec![(10, 20, 1)], vec![(20, u64::MAX)]));
}
