//! Entering an access into a cell, and whom it races with. Refuses to know bytes and regions.
#![allow(unsafe_code)]

use super::access::Act;
use super::order::{Order, Who};
use super::region::{Cell, More};

/// Enters an access that can race with nothing in the cell, as nearly all do; false, and nothing done, when it takes a closer look.
///
/// # Safety
/// `more` is the cell's own; it is looked at only where the cell says that it counts.
#[inline(always)]
pub unsafe fn quick(order: &Order, c: &mut Cell, more: *mut More, now: Who, act: Act, shared: bool) -> bool {
    // Before the launch, by this lane, before the block's last barrier, or in the shared memory of another block.
    let past = |then: Who| {
        !then.same_launch(now)
            || then.same_lane(now)
            || if then.same_block(now) { order.before_barrier(then) } else { shared }
    };
    if !past(c.write) {
        return false;
    }
    if c.read.more() && c.read.same_launch(now) && (!shared || c.read.same_block(now)) {
        // SAFETY: as the caller promises.
        let m = unsafe { &*more };
        if m.far != Who::NOBODY {
            return false;
        }
        if !past(m.other) {
            // Two readers of this very moment are enough for any write to come, if they stand for this one too.
            return act == Act::Read && order.stands_for(c.read, now);
        }
    }
    if !past(c.read) {
        return false;
    }
    if act == Act::Read {
        c.read = now.plain();
    } else {
        c.write = now;
    }
    true
}

/// Enters an access into a cell that others touched; the access it races with, or nobody.
#[inline(never)]
pub fn touch(order: &Order, c: &mut Cell, m: &mut More, now: Who, act: Act, shared: bool) -> Who {
    if shared {
        // Shared memory of another block is other memory.
        for then in [&mut c.write, &mut c.read] {
            if !then.same_block(now) {
                *then = Who::NOBODY;
            }
        }
    }
    if !(c.read.more() && c.read.same_launch(now)) {
        *m = More::default();
    }
    let mut rival = Who::NOBODY;
    let counts = |then: Who| then.same_launch(now) && !then.same_lane(now);
    let mut check = |then: Who| {
        if counts(then) && order.races(then, now) {
            rival = then;
        }
    };
    check(c.write);
    if act != Act::Read {
        check(c.read);
        check(m.other);
    }
    // A far read does not race with a read.
    if act != Act::Read || m.far.atomic() {
        check(m.far);
    }
    if act == Act::Read {
        if c.read.same_block(now) {
            if !c.read.same_lane(now) {
                m.other = c.read;
            }
        } else {
            if c.read.same_launch(now) && !m.far.atomic() {
                m.far = c.read;
            }
            m.other = Who::NOBODY;
        }
        c.read = now;
    } else {
        if c.write.atomic() && c.write.same_launch(now) && !c.write.same_block(now) {
            m.far = c.write;
        }
        c.write = now;
    }
    let kept = *m != More::default();
    if kept && !c.read.same_launch(now) {
        // Nobody read this cell yet: the access itself, entered as a read too, carries the mark.
        c.read = now;
    }
    c.read = order.marked(c.read, m.other, m.far);
    rival
}
