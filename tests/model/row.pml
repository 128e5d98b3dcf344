/* SPDX-License-Identifier: BSL-1.0
 *
 * The row of one lease: two clients, the network between them and the database, a node of a cluster that lags behind, and clocks.
 * tests/model/run checks it with spin; docs/model.md says what is checked and what was found.
 *
 * Time. Everything that lasts is counted in ticks that are left. A tick takes one from all of them, except that a client's clock may
 * miss one tick in each term: MARGIN covers that.
 *
 * Tokens. The row compares tokens for equality only, so a model needs no numbers: what somebody remembers is the current token (CUR)
 * or an earlier one (OLD). A grant makes a new token, which turns every CUR that is remembered anywhere into OLD.
 *
 * Put back a bug of the first wave:  -DBUG_O1  an attempt believes a read that shows its own unexpired term, instead of writing
 * Others, to see that the model can fail:
 *   -DBUG_REPLY    the deadline is counted from the reply, not from the request
 *   -DBUG_REVIVE   a renewal does not ask whether the term is over
 *   -DBUG_TAKE     compare-and-set asks for the token only, not whether the term is over
 *   -DBUG_RELEASE  a release does not compare the token
 *   -DBUG_BUSY     (liveness) who is told busy waits to be woken, and nothing wakes it
 * -DONE_STATEMENT: attempts are single statements, as on one server; without it they are compare-and-set, as on a cluster, whose nodes lag.
 * -DFAULTS=N: at most N faults in a run (a request or reply lost or late, a message doubled, a read from a node that lags); without it
 * any number. A clock that is slow and a client that stops are no faults.
 * -DLIVENESS, with FAULTS: the second client has TURNS grants and renewals in all. Then the first must be granted the lease again and
 * again, whatever was lost, also if the second dies while it holds.
 */
#ifndef TTL
#define TTL 3
#endif
#define MARGIN 1
#define N 2

#define NONE 0
#define OLD 1
#define CUR 2

#ifdef FAULTS
byte faults = FAULTS;
#define A_FAULT (faults > 0)
#define SPEND faults--
#else
#define A_FAULT true
#define SPEND skip
#endif
#ifdef LIVENESS
#ifndef TURNS
#define TURNS 1
#endif
byte turns = TURNS;
#define MAY_GO_ON (c == 0 || turns > 0)
#define TURN if :: c == 1 -> turns-- :: else fi
#else
#define MAY_GO_ON true
#define TURN skip
#endif

#ifdef ONE_STATEMENT
#define ATTEMPT grant /* an upsert that decides and writes at once */
#else
#define ATTEMPT look  /* then take: compare-and-set */
#endif

mtype = { nothing, grant, look, take, renew, release, yes, no };

/* The row. left: ticks until the term is over by the database's clock; 0: it is over, or released. */
byte owner;             /* 1 + client; 0: nobody yet */
byte left;
/* The row before its last change, as a node that lags behind shows it. */
#ifdef ONE_STATEMENT
#define REMEMBER_PAST(token) skip
#else
byte past_owner;
byte past_left;
byte past_token = OLD;
#define REMEMBER_PAST(token) past_owner = owner; past_left = left; past_token = token
#endif

/* What each client has sent and not heard of, and what it has given up and may still be carried out. */
mtype sent[N] = nothing;
byte sent_token[N];
mtype late[N] = nothing;
byte late_token[N];
mtype answer[N] = nothing;
byte answer_token[N];
mtype called[N] = nothing; /* what the answer is to */

/* What each client believes. */
byte trust[N];          /* ticks to its deadline, by its own clock; 0: it does not believe */
byte held_token[N];
byte age[N];            /* ticks since the call began, by its own clock */
bit slip[N];            /* its clock has missed a tick since the term's last attempt began */
bit call_slip[N];       /* the same since this call began */

#define HOLDS(c) (trust[c] > 0)
#define IN_ROW(c) (owner == c + 1 && left > 0)

inline check()
{
    assert(!(HOLDS(0) && HOLDS(1)));
    assert(!HOLDS(0) || IN_ROW(0));
    assert(!HOLDS(1) || IN_ROW(1))
}

inline age_token(t) { if :: t == CUR -> t = OLD :: else fi }

/* Whose term it was is of no interest when it is over: that keeps the states few. */
#ifdef BUG_REVIVE
#define FORGET_OWNER skip
#else
#define FORGET_OWNER owner = 0
#endif

inline new_term(c)
{
    REMEMBER_PAST(OLD);
    owner = c + 1; left = TTL;
    age_token(sent_token[0]); age_token(sent_token[1]);
    age_token(late_token[0]); age_token(late_token[1]);
    age_token(answer_token[0]); age_token(answer_token[1]);
    age_token(held_token[0]); age_token(held_token[1])
}

/* The database carries out a statement: result and result_token are its answer. */
inline carry_out(c, what, token)
{
    result = no; result_token = NONE;
    if
    :: what == grant && (left == 0 || owner == c + 1) -> new_term(c); result = yes; result_token = CUR
#ifdef BUG_TAKE
    :: what == take && token == CUR -> new_term(c); result = yes; result_token = CUR
#else
    :: what == take && token == CUR && (left == 0 || owner == c + 1) -> new_term(c); result = yes; result_token = CUR
#endif
#ifdef BUG_REVIVE
    :: what == renew && token == CUR && owner == c + 1 -> REMEMBER_PAST(CUR); assert(left > 0); left = TTL; result = yes; result_token = CUR
#else
    :: what == renew && token == CUR && owner == c + 1 && left > 0 -> REMEMBER_PAST(CUR); assert(left > 0); left = TTL; result = yes; result_token = CUR
#endif
#ifdef BUG_RELEASE
    :: what == release && left > 0 -> REMEMBER_PAST(CUR); left = 0; FORGET_OWNER; result = yes
#else
    :: what == release && token == CUR && owner == c + 1 && left > 0 -> REMEMBER_PAST(CUR); left = 0; FORGET_OWNER; result = yes
#endif
    :: else
    fi
}

/* A look before a compare-and-set; yes: it looks free, or is the caller's own. */
inline read_row(c, row_owner, row_left, row_token)
{
    result_token = row_token;
    if
    :: row_left == 0 || row_owner == c + 1 -> result = yes
    :: else -> result = no; result_token = NONE
    fi;
#ifdef BUG_O1
    if :: row_left > 0 && row_owner == c + 1 -> called[c] = grant :: else fi /* "I hold it already" */
#endif
}

/* What a statement may meet on its way to the database and back. */
proctype network(byte c)
{
    mtype result;
    byte result_token;
end:
    do
#ifndef ONE_STATEMENT
    :: atomic { sent[c] == look -> read_row(c, owner, left, CUR); answer[c] = result; answer_token[c] = result_token;
                sent[c] = nothing; result = nothing; result_token = NONE }
    :: atomic { A_FAULT && sent[c] == look -> SPEND; read_row(c, past_owner, past_left, past_token); answer[c] = result;
                answer_token[c] = result_token; sent[c] = nothing; result = nothing; result_token = NONE }
#endif
    :: atomic { sent[c] != nothing && sent[c] != look -> carry_out(c, sent[c], sent_token[c]); answer[c] = result;
                answer_token[c] = result_token; sent[c] = nothing; sent_token[c] = NONE; result = nothing; result_token = NONE; check() }
    /* Delivered twice. */
    :: atomic { A_FAULT && sent[c] != nothing && sent[c] != look && late[c] == nothing -> SPEND; late[c] = sent[c];
                late_token[c] = sent_token[c] }
    :: atomic { A_FAULT && sent[c] != nothing -> SPEND; sent[c] = nothing; sent_token[c] = NONE }
    :: atomic { late[c] != nothing -> carry_out(c, late[c], late_token[c]); late[c] = nothing; late_token[c] = NONE;
                result = nothing; result_token = NONE; check() }
    :: atomic { late[c] != nothing -> late[c] = nothing; late_token[c] = NONE }
    od
}

#define IDLE (called[c] == nothing)

inline call(what, token)
{
    called[c] = what; sent[c] = what; sent_token[c] = token; age[c] = 0; call_slip[c] = 0
}

/* The deadline: when the call began, and the ttl less the margin. */
inline believe()
{
    if
#ifdef BUG_REPLY
    :: true -> trust[c] = TTL - MARGIN; slip[c] = 0; held_token[c] = answer_token[c]
#else
    :: age[c] < TTL - MARGIN && TTL - MARGIN - age[c] > trust[c] ->
        trust[c] = TTL - MARGIN - age[c]; slip[c] = call_slip[c]; held_token[c] = answer_token[c]
    :: else /* the answer came too late to be of use */
#endif
    fi
}

inline call_over()
{
    called[c] = nothing; answer[c] = nothing; answer_token[c] = NONE; age[c] = 0; call_slip[c] = 0
}

proctype client(byte c)
{
end:
    do
    :: atomic { IDLE && !HOLDS(c) && MAY_GO_ON -> held_token[c] = NONE; call(ATTEMPT, NONE) }
    :: atomic { IDLE && HOLDS(c) && MAY_GO_ON -> TURN; call(renew, held_token[c]) }
    :: atomic { IDLE && HOLDS(c) -> trust[c] = 0; slip[c] = 0; call(release, held_token[c]); held_token[c] = NONE }
#ifndef ONE_STATEMENT
    :: atomic { called[c] == look && answer[c] == yes -> answer[c] = nothing; called[c] = take; sent[c] = take;
                sent_token[c] = answer_token[c]; answer_token[c] = NONE }
#endif
    :: atomic { (called[c] == grant || called[c] == take) && answer[c] == yes -> TURN; believe(); call_over(); check() }
    /* A term that is over by the holder's own clock stays over. */
    :: atomic { called[c] == renew && answer[c] == yes -> if :: HOLDS(c) -> believe() :: else fi; call_over(); check() }
    :: atomic { called[c] == renew && answer[c] == no -> trust[c] = 0; slip[c] = 0; held_token[c] = NONE; call_over() }
    :: atomic { called[c] == release && answer[c] != nothing -> call_over() }
    :: atomic { called[c] != renew && called[c] != release && answer[c] == no -> call_over();
#ifdef BUG_BUSY
                false
#endif
       }
    /* No answer in time. What was sent may still be carried out. */
    :: atomic { called[c] != nothing && sent[c] == nothing && answer[c] == nothing -> call_over() }
    :: atomic { A_FAULT && called[c] != nothing && (sent[c] != nothing || answer[c] != nothing) -> SPEND;
                if
                :: sent[c] != nothing && sent[c] != look && late[c] == nothing -> late[c] = sent[c]; late_token[c] = sent_token[c]
                :: else
                fi;
                sent[c] = nothing; sent_token[c] = NONE; call_over() }
    /* It dies. What it has sent may still be carried out. */
    :: atomic { c == 1 -> trust[c] = 0; held_token[c] = NONE; slip[c] = 0; called[c] = nothing; age[c] = 0; call_slip[c] = 0; break }
    od
}

inline tick_of(c)
{
    if
    :: (HOLDS(c) || called[c] != nothing) && (!HOLDS(c) || !slip[c]) && (called[c] == nothing || !call_slip[c]) ->
        if :: HOLDS(c) -> slip[c] = 1 :: else fi;
        if :: called[c] != nothing -> call_slip[c] = 1 :: else fi
    :: true ->
        if :: trust[c] > 0 -> trust[c]-- :: else fi;
        if :: trust[c] == 0 -> slip[c] = 0; held_token[c] = NONE :: else fi;
        if :: called[c] != nothing && age[c] < TTL -> age[c]++ :: else fi
    fi
}

proctype clock()
{
end:
    do
    :: atomic {
#ifdef LIVENESS
        /* Calls are answered in time. */
        (called[0] == nothing || age[0] == 0) && (called[1] == nothing || age[1] == 0) ->
#else
        true ->
#endif
        if :: left > 0 -> left-- :: else fi;
        if :: left == 0 -> FORGET_OWNER :: else fi;
#ifndef ONE_STATEMENT
        if :: past_left > 0 -> past_left-- :: else fi;
        if :: past_left == 0 -> past_owner = 0 :: else fi;
#endif
        tick_of(0); tick_of(1); check() }
    od
}

init
{
    atomic { run client(0); run client(1); run network(0); run network(1); run clock() }
}

#ifdef LIVENESS
ltl asker_is_granted { [] <> (trust[0] > 0) }
#endif
