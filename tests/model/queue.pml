/* SPDX-License-Identifier: BSL-1.0
 *
 * The queue for one lease: waiters stand in line for a session lock of the database; the row alone decides who holds. One process may
 * stop for ever, or for a while, wherever it is, and its session keeps its place, or the lock.
 *
 * A tick is about the 250 ms after which a waiter that trusts no wake-up looks at the row. Whatever a live process can do at once it does
 * before the next tick. Waiters and the holder come and go as they like.
 *
 * Put back bugs of the first wave:
 *   -DBUG_W1  a waiter whose wake-up did not come relies on the next one for as long as before
 *   -DBUG_W2  who wants the lease asks for it before it queues, and so overtakes the waiter that was just woken
 *   -DBUG_C2  who wants to look at the row leaves the queue for that, and comes back at its end
 * -DFAULTS=N: so many times a process stops. -DLIVENESS: and the server ends the session of a process that stopped, in the end; then each
 * waiter is served in the end.
 */
#ifndef N
#define N 3
#endif
#ifndef FAULTS
#define FAULTS 0
#endif
#define TTL 3
#define HOLD 2          /* the longest that a live holder holds, in ticks; less than TTL, since renewals are left out */
#define SHORT 1         /* a waiter looks at the row after so many ticks if wake-ups fail to come, */
#define LONG 6          /* and after so many while they come */

mtype = { away, waiting, holding };
mtype at[N] = away;
bit stopped[N];
byte line[N];           /* sessions that wait for the lock, the first has it: 1 + process */
byte length;
byte since[N];          /* ticks since a waiter's last look, or a holder's grant */
bit distrusts[N];       /* its last wake-up did not come */
byte overtaken[N];      /* grants to others since it began to wait */

byte holder;            /* the row: 1 + process; 0: nobody */
byte left;              /* ticks until its term is over */
byte free_for[N];       /* ticks that the row has been free while this live process waited */
byte slow[N];           /* grants to it, since it was last woken, that took longer than a look after SHORT explains */
byte faults = FAULTS;

#define IS_FIRST(c) (length > 0 && line[0] == c + 1)
#ifdef BUG_W1
#define TRUST(c) LONG
#else
#define PASSED(c) (overtaken[c] < 3 -> overtaken[c] : 3)
#define TRUST(c) (distrusts[c] -> SHORT : LONG / (1 + PASSED(c)))
#endif
#define LIVE_WAITER(c) (at[c] == waiting && !stopped[c])
#define MAY_TAKE(c) (LIVE_WAITER(c) && IS_FIRST(c) && holder == 0)
#define MAY_LOOK(c) (LIVE_WAITER(c) && !IS_FIRST(c) && since[c] >= TRUST(c))
#define MUST_RELEASE(c) (at[c] == holding && !stopped[c] && since[c] >= HOLD)
#define URGENT(c) (MAY_TAKE(c) || MAY_LOOK(c) || MUST_RELEASE(c))

inline leave(c)
{
    i = 0;
    do
    :: i < length && line[i] != c + 1 -> i++
    :: else -> break
    od;
    if
    :: i < length ->
        length--;
        do
        :: i < length -> line[i] = line[i + 1]; i++
        :: else -> break
        od;
        line[length] = 0
    :: else
    fi;
    i = 0
}

inline join(c) { line[length] = c + 1; length++; at[c] = waiting; since[c] = 0 }

/* The row decides. Without faults at most two grants go to others while a process waits. A wake-up that does not come makes one grant slow for each
 * process, not all of them. */
inline take(c)
{
    assert(holder == 0);
    if :: free_for[c] > SHORT + 1 -> slow[c]++ :: else fi;
    assert(slow[c] <= 1);
    holder = c + 1; left = TTL;
    at[c] = holding; since[c] = 0; overtaken[c] = 0;
    i = 0;
    do
    :: i < N -> if :: i != c && at[i] == waiting && !stopped[i] && overtaken[i] <= N -> overtaken[i]++ :: else fi;
                assert(FAULTS > 0 || overtaken[i] <= N - 1); free_for[i] = 0; i++
    :: else -> break
    od;
    i = 0
}

proctype contender(byte c)
{
    byte i;
end:
    do
    :: atomic { at[c] == away && !stopped[c] ->
#ifdef BUG_W2
                if
                :: holder == 0 -> take(c)
                :: else -> join(c)
                fi
#else
                join(c)
#endif
       }
    /* Its session has the lock, and keeps it while it holds. */
    :: atomic { MAY_TAKE(c) -> distrusts[c] = 0; slow[c] = 0; free_for[c] = 0; take(c) }
    /* A free row is left to the first in line for one look; then the lock is stuck. */
    :: atomic { MAY_LOOK(c) ->
                if
                :: holder == 0 && free_for[c] > 0 -> distrusts[c] = 1; leave(c); take(c)
                :: holder == 0 && free_for[c] == 0 -> since[c] = TRUST(c) - 1
                :: else -> since[c] = 0
                fi }
#ifdef BUG_C2
    :: atomic { LIVE_WAITER(c) && !IS_FIRST(c) && since[c] > 0 -> leave(c); join(c) }
#endif
    :: atomic { at[c] == holding && !stopped[c] -> if :: holder == c + 1 -> holder = 0; left = 0 :: else fi;
                leave(c); at[c] = away; since[c] = 0 }
    od
}

proctype fault()
{
    byte i;
end:
    do
    :: atomic { faults > 0 -> faults--; select (i : 0 .. N - 1); stopped[i] = 1; i = 0 }
    /* It continues. */
    :: atomic { stopped[0] -> stopped[0] = 0 }
    :: atomic { stopped[1] -> stopped[1] = 0 }
    od
}

#ifdef LIVENESS
/* The session of a process that is gone is ended in the end: its keepalives are not answered. */
proctype server()
{
    byte i;
    byte c;
end:
    do
    :: atomic { stopped[0] && at[0] != away -> c = 0; leave(c); if :: at[c] == waiting -> at[c] = away :: else fi; c = 0 }
    :: atomic { stopped[1] && at[1] != away -> c = 1; leave(c); if :: at[c] == waiting -> at[c] = away :: else fi; c = 0 }
    :: atomic { stopped[2] && at[2] != away -> c = 2; leave(c); if :: at[c] == waiting -> at[c] = away :: else fi; c = 0 }
    od
}
#endif

proctype clock()
{
    byte i;
end:
    do
    :: atomic { !URGENT(0) && !URGENT(1) && !URGENT(2) ->
        do
        :: i < N ->
            if :: holder == 0 && LIVE_WAITER(i) && free_for[i] < SHORT + 2 -> free_for[i]++ :: else fi;
            if :: at[i] != away && !stopped[i] && since[i] < LONG -> since[i]++ :: else fi;
            i++
        :: else -> break
        od;
        i = 0;
        if :: left > 0 -> left--;
            if
            :: left == 0 ->
                holder = 0;
                /* Waiters know when the term ends, and look then. */
                do
                :: i < N -> if :: at[i] == waiting && !stopped[i] -> since[i] = LONG :: else fi; i++
                :: else -> break
                od;
                i = 0
            :: else
            fi
        :: else
        fi }
    od
}

init
{
    atomic {
        run contender(0); run contender(1); run contender(2); run clock();
#if FAULTS > 0
        run fault();
#endif
#ifdef LIVENESS
        run server()
#endif
    }
}

#ifdef LIVENESS
ltl waiter_is_served { [] ((at[2] == waiting) -> <> (at[2] == holding || stopped[2])) }
#endif
