/* SPDX-License-Identifier: BSL-1.0
 *
 * How members divide shards: each looks at the rows now and then, decides by the same plan, and carries its part out later, when the rows may
 * have changed. include/leasehold/group/shard_plan.hpp is the plan.
 *
 * The row decides: a shard is taken only where nobody owns it, and given up by its owner only. A member that has too few asks one that has
 * at least two more, and the one that is asked gives the shard up if, by what it knows then, the move makes the shares more even.
 *
 * Members: M, of which FAULTS die at any time and JOINS come later. Checked: a shard has one owner, since a take asks the row again; a
 * member that acts at once on what it has seen never makes the shares less even; and, with -DLIVENESS, in the end all shards are owned by
 * those who live, in shares that differ by one at most, and stay so.
 *
 *   -DBUG_STALE   a take does not ask the row again whether the shard is free
 *   -DBUG_SPREAD  a member asks one that has one more than itself
 *   -DBUG_GIVE    the one that is asked gives the shard up whatever it knows
 */
#ifndef M
#define M 3
#endif
#ifndef S
#define S 4
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef JOINS
#define JOINS 1
#endif
#ifdef BUG_SPREAD
#define LEAST_MORE 1
#else
#define LEAST_MORE 2
#endif

mtype = { nothing, take, ask, give };
byte owner[S];          /* 1 + member; 0: nobody */
byte asker[S];          /* 1 + the member that asked its owner for it; 0: nobody */
bit works[S * M];       /* who works on which shard: believes to own it */
bit lives[M];
byte has[M];            /* by the rows */
byte deaths = FAULTS;
byte joins = JOINS;
/* What each member has decided and not done yet. */
mtype plan[M] = nothing;
byte plan_shard[M];
bit old_look[M];        /* the rows, or who lives, have changed since it looked */

#define WORKS(s, m) works[(s) * M + (m)]

inline all_looks_are_old() { old_look[0] = 1; old_look[1] = 1; old_look[2] = 1 }

/* Who lives and has the fewest: the first of them. least: the member; M: nobody. */
inline find_least()
{
    least = M; k = 0;
    do
    :: k < M -> if :: lives[k] && (least == M || has[k] < has[least]) -> least = k :: else fi; k++
    :: else -> break
    od
}
inline find_most()
{
    most = M; k = 0;
    do
    :: k < M -> if :: lives[k] && (most == M || has[k] > has[most]) -> most = k :: else fi; k++
    :: else -> break
    od
}

/* A look at all rows, and what follows from it for this member: at most one step. */
inline look()
{
    find_least(); find_most();
    plan[m] = nothing; s = 0;
    do
    :: s < S && plan[m] == nothing ->
        if
        /* Free: the member that is to have one more takes it; what was given up for an asker is the asker's while it lives. */
        :: owner[s] == 0 && (asker[s] == m + 1 || ((asker[s] == 0 || !lives[asker[s] - 1]) && least == m)) -> plan[m] = take; plan_shard[m] = s
#ifdef BUG_GIVE
        :: owner[s] == m + 1 && asker[s] != 0 && lives[asker[s] - 1] -> plan[m] = give; plan_shard[m] = s
#else
        :: owner[s] == m + 1 && asker[s] != 0 && lives[asker[s] - 1] && has[m] >= has[asker[s] - 1] + LEAST_MORE ->
            plan[m] = give; plan_shard[m] = s
#endif
        :: owner[s] == most + 1 && asker[s] == 0 && least == m && has[most] >= has[m] + LEAST_MORE -> plan[m] = ask; plan_shard[m] = s
        :: else
        fi;
        s++
    :: else -> break
    od;
    old_look[m] = 0; s = 0; k = 0; least = 0; most = 0
}

inline carry_out()
{
    s = plan_shard[m];
    if
#ifdef BUG_STALE
    :: plan[m] == take ->
        if :: owner[s] != 0 -> has[owner[s] - 1]-- :: else fi;
#else
    :: plan[m] == take && owner[s] == 0 ->
#endif
        owner[s] = m + 1; asker[s] = 0; has[m]++; WORKS(s, m) = 1; all_looks_are_old();
        assert(WORKS(s, 0) + WORKS(s, 1) + WORKS(s, 2) == 1)
    /* It stops working on it, and then gives it up. The request stays until somebody has taken the shard. */
    :: plan[m] == give && owner[s] == m + 1 ->
        assert(old_look[m] || asker[s] == 0 || has[m] > has[asker[s] - 1] + 1);
        WORKS(s, m) = 0; owner[s] = 0; has[m]--; all_looks_are_old()
    :: plan[m] == ask && owner[s] != 0 && owner[s] != m + 1 && asker[s] == 0 -> asker[s] = m + 1; all_looks_are_old()
    :: else
    fi;
    plan[m] = nothing; plan_shard[m] = 0; s = 0
}

/* An owner withdraws requests that have lost their reason, as a plan does that does not follow them. */
inline forget_requests()
{
    s = 0;
    do
    :: s < S ->
        if
        :: asker[s] != 0 && ((owner[s] == m + 1 && (!lives[asker[s] - 1] || has[m] < has[asker[s] - 1] + LEAST_MORE))) -> asker[s] = 0
        :: else
        fi;
        s++
    :: else -> break
    od;
    s = 0
}

#ifdef BUG_GIVE
#define FORGET_REQUESTS skip
#else
#define FORGET_REQUESTS forget_requests()
#endif

proctype member(byte m)
{
    byte s;
    byte k;
    byte least;
    byte most;
end:
    do
    :: atomic { lives[m] && plan[m] == nothing -> FORGET_REQUESTS; look() }
    :: atomic { lives[m] && plan[m] != nothing -> carry_out() }
    od
}

proctype world()
{
    byte s;
    byte m;
end:
    do
    /* A member dies; its terms run out. */
    :: atomic { deaths > 0 && lives[0] -> deaths--; m = 0; goto dies }
    :: atomic { deaths > 0 && lives[1] -> deaths--; m = 1; goto dies }
    :: atomic { joins > 0 && !lives[2] && has[2] == 0 -> joins--; lives[2] = 1; all_looks_are_old() }
    od;
dies:
    atomic {
        lives[m] = 0; plan[m] = nothing; plan_shard[m] = 0;
        do
        :: s < S -> if :: owner[s] == m + 1 -> owner[s] = 0; WORKS(s, m) = 0 :: else fi; s++
        :: else -> break
        od;
        has[m] = 0; s = 0; m = 0; all_looks_are_old();
        goto end
    }
}

init
{
    atomic { lives[0] = 1; lives[1] = 1; run member(0); run member(1); run member(2); run world() }
}

#define APART(a, b) (lives[a] && lives[b] && has[a] > has[b] + 1)
#define FAIR (!APART(0, 1) && !APART(1, 0) && !APART(0, 2) && !APART(2, 0) && !APART(1, 2) && !APART(2, 1))
#define ALL_OWNED (has[0] + has[1] + has[2] == S)

#ifdef LIVENESS
ltl fair_in_the_end { <> [] (ALL_OWNED && FAIR) }
#endif
