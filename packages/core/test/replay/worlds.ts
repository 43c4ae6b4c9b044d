/** The worlds that are explored, and the purpose of each. */

import type { Attempt, Scenario, Word } from './scenario.ts'

export interface World {
  readonly shows: string
  readonly scenario: Scenario
}

/** `says`: the calls of each response. `!` follows those of an attempt that fails, `>` those of a step. */
function world(shows: string, says: string, environment: Omit<Scenario, 'steps'>): World {
  return { shows, scenario: { steps: stepsOf(says), ...environment } }
}

/** The calls of each response, as a text: `i1 ! i1 r2 > x3`. */
export function stepsOf(says: string): Scenario['steps'] {
  if (says === '') return []
  return says.split(' > ').map((step) => {
    const attempts = step.split(' ! ').map((calls): Attempt => ({ calls: calls.split(' ') as Word[] }))
    return attempts.map((one, index) => (index < attempts.length - 1 ? { ...one, fails: true } : one))
  })
}

export const WORLDS: readonly World[] = [
  world('a call waits for its response, then is made once', 'x1', { eager: false, limit: 1 }),
  world('two equal calls of one response are both made', 'x1 x1', { eager: 'bold', limit: 2 }),
  world('an equal call of the next attempt joins the existing one', 'i1 r2 ! r2 i1', {
    eager: true,
    limit: 2,
    cancelCall: true,
  }),
  world('if a failed attempt has two equal calls, one is joined and one is discarded', 'i1 i1 ! i1', {
    eager: true,
    limit: 1,
    cancel: 'after-model',
  }),
  world('a discarded call that has succeeded is undone once, also when the process is killed meanwhile', 'v1 i2 ! i2', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('an abort replaces a cancel, and the calls it discards are undone', 'v1 ! r2', {
    eager: true,
    limit: 1,
    cancel: 'now',
    abort: true,
  }),
  world('a question of a call waits for its answer, and one answer is enough to continue that call', 'q1 q2', {
    eager: 'bold',
    limit: 2,
    partial: true,
  }),
  world('with one slot a call does not overtake an earlier one that asks', 'q1 x2', {
    eager: false,
    limit: 1,
    cancel: 'now',
  }),
  world('an early call that waits for its response is stopped when a hook asks', 'w1 r2 x3', {
    eager: true,
    limit: 2,
    hookAsks: true,
  }),
  world('an early call with an inner call that must wait does not delay a run that asks', 'm1', {
    eager: true,
    limit: 1,
    hookAsks: true,
    cancel: 'after-tools',
  }),
  world('an early call with an inner call that must wait is made again after a kill, but the inner call is not', 'm1', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('a question of an inner call is asked once, and its maker begins again with the answer', 'n1', {
    eager: false,
    limit: 1,
    store: true,
    kill: true,
  }),
  world('the question of an inner call is dropped when its maker is cancelled', 'n1', {
    eager: 'bold',
    limit: 2,
    cancelCall: true,
    abort: true,
  }),
  world('a function that ignores its signal is abandoned, and delays nothing', 'd1 v2', {
    eager: true,
    limit: 1,
    cancel: 'now',
  }),
  world('two calls that write one key execute one at a time', 'p1 p2', {
    eager: 'bold',
    limit: 2,
    slowCheck: true,
    cancelCall: true,
  }),
  world('a wrap that repeats a failed execution repeats it after a resume as often as without', 'f1', {
    eager: false,
    limit: 1,
    wrap: 'retry',
    store: true,
    kill: true,
  }),
  world('a wrap that starts two executions and then asks gets each outcome for its input after the resume', 'x1', {
    eager: 'bold',
    limit: 2,
    wrap: 'both',
    cancel: 'after-model',
  }),
  world('a call that cannot be repeated is stored before it is entered, and a failed save ends the run', 'x1 r2 r3', {
    eager: false,
    limit: 2,
    store: true,
    saveFails: 1,
  }),
  world('after a kill at any time nothing is made twice', 'x1 x2', {
    eager: 'bold',
    limit: 2,
    store: true,
    kill: true,
  }),
  world('no call of an earlier step is left, and an equal call of the next step is another one', 'x1 > x1', {
    eager: 'bold',
    limit: 1,
    cancel: 'after-tools',
  }),
  world('a failed attempt leaves its calls to the next one, and a kill loses none of them', 'i1 r2 ! r2 i1', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('a question is asked once, whenever the process is killed', 'q1 x2', {
    eager: 'bold',
    limit: 2,
    store: true,
    kill: true,
    partial: true,
  }),
  world(
    'an execution with which a wrap replaced one that asks may have happened, whenever the process is killed',
    'h1',
    { eager: 'bold', limit: 1, wrap: 'catch', store: true, kill: true, cancel: 'now' },
  ),
  world('if one of two parallel executions asks, the other may have happened', 'h1', {
    eager: false,
    limit: 2,
    wrap: 'both',
    store: true,
    kill: true,
    cancel: 'now',
  }),
  world('a hook that asks, a cancel and a kill together neither repeat nor lose a call', 'v1 x2', {
    eager: true,
    limit: 2,
    store: true,
    hookAsks: true,
    kill: true,
    cancel: 'now',
  }),
  world('a cancel while a hook asks keeps the question, and the early calls', 'm1 x2', {
    eager: 'bold',
    limit: 2,
    hookAsks: true,
    cancel: 'now',
  }),
  world('an inner call asks while another call waits for a slot', 'n1 x2', {
    eager: 'bold',
    limit: 1,
    store: true,
    kill: true,
  }),
  world('two calls that are discarded together are each undone once', 'v1 v2 ! v2', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('an abort ends the retries of a wrap, whatever was cancelled before', 'f1 x2', {
    eager: 'bold',
    limit: 2,
    wrap: 'retry',
    cancel: 'now',
    abort: true,
  }),
  world('outcomes of two parallel executions are kept after a cancel and a kill', 'x1', {
    eager: 'bold',
    limit: 2,
    wrap: 'both',
    store: true,
    kill: true,
    cancel: 'now',
  }),
  world('a call that is cancelled while another asks neither asks nor delays the answer', 'w1 q2', {
    eager: true,
    limit: 2,
    hookAsks: true,
    partial: true,
    cancel: 'after-model',
    cancelCall: true,
  }),
  world('an inner call waits for its key, but never for one of its makers', 'c1 p2', {
    eager: 'bold',
    limit: 2,
    store: true,
    kill: true,
    cancelCall: true,
  }),
  world('if calls would wait for each other forever, one fails and the others go on', 'a1 a2', {
    eager: true,
    limit: 2,
    cancelCall: true,
  }),
  world('a call that only calls other tools is made again, and finds its inner calls', 'c1 r2 ! r2 c1', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('no more inner calls of one maker execute at the same time than allowed', 'c1', {
    eager: true,
    limit: 1,
    innerLimit: 1,
    wrap: 'both',
    cancel: 'now',
    cancelCall: true,
  }),
  world('in the slot of a call that threw an error that ends the run nothing else starts', 'e1 r2 x3', {
    eager: false,
    limit: 2,
    slowCheck: true,
    cancel: 'now',
  }),
  world('an early call that threw an error that ends the run ends it when the response is accepted', 'e1 r2 ! e1 x3', {
    eager: 'bold',
    limit: 2,
    cancelCall: true,
  }),
  world('a call continues in its slot if a wrap catches the error that would have ended the run', 'e1 e2', {
    eager: 'bold',
    limit: 1,
    wrap: 'retry',
    store: true,
    kill: true,
  }),
  world('an inner call that a killed call was about to make waits until its maker makes it again', 'c1 p2 r3 r4', {
    eager: false,
    limit: 2,
    store: true,
    kill: true,
  }),
  world(
    'a call that threw an error that ends its run, and is not repeated before the run stops, may have happened',
    'e1 r2',
    { eager: false, limit: 1, wrap: 'retry', cancel: 'after-model' },
  ),
  world('a read that was made before a write that now comes first is made again', 'g1 ! b1 g1', {
    eager: true,
    limit: 2,
    cancelCall: true,
  }),
  world(
    'a question of a call of a failed attempt waits for the attempt that requests that call again',
    'q1 r2 ! r3 q1',
    { eager: 'bold', limit: 1, cancel: 'after-model' },
  ),
  world('calls that run in parallel with one that asks go on to their ends', 'q1 v2 m3', {
    eager: false,
    limit: 3,
    cancel: 'after-tools',
  }),
  world(
    'calls of a killed process wait for their slot again, in the order in which they are requested',
    'i1 r2 r3 r4',
    { eager: true, limit: 1, store: true, kill: true },
  ),
  world('the reader sees a call first, then its events, together with its inner calls', 'm1', {
    eager: true,
    limit: 1,
    hides: 'late',
    cancel: 'after-tools',
  }),
  world('the reader sees nothing of a call that is discarded before it was shown', 'i1 ! r2', {
    eager: true,
    limit: 1,
    hides: 'late',
    cancel: 'now',
  }),
  world('a call whose reader sees another input is discarded, and has emitted nothing', 'i1', {
    eager: true,
    limit: 1,
    hides: 'other',
    store: true,
    kill: true,
  }),
  world('an end that was shown before a question is not shown again after the answer', 'r1 q2', {
    eager: false,
    limit: 2,
    hides: 'late',
  }),
  world('a finished hook of the gate does not run again, whatever stops the run and whatever another one asks', 'i1', {
    eager: true,
    limit: 1,
    gate: 'asks',
    rejects: 1,
    cancel: 'all',
  }),
  world('a rejected answer counts toward the limit of steps, and is not accepted', '', {
    eager: false,
    limit: 1,
    gate: true,
    rejects: 9,
    maxSteps: 3,
    cancel: 'after-model',
  }),
  world('the last step has no call whose result could not be read', 'i1 > x2', {
    eager: true,
    limit: 1,
    maxSteps: 2,
    sends: 1,
    cancel: 'all',
  }),
  world('a sent message is read, or it is in the checkpoint, or it was refused', 'q1', {
    eager: 'bold',
    limit: 1,
    sends: 1,
    gate: true,
    rejects: 1,
    cancel: 'after-tools',
  }),
  world('a message that is sent while an answer is judged is read in a further step, whatever stops the run', '', {
    eager: false,
    limit: 1,
    sends: 2,
    gate: 'asks',
    cancel: 'all',
  }),
  world('a message that is sent while the run is aborted, or fails, is not lost', 'e1', {
    eager: false,
    limit: 1,
    sends: 2,
    abort: true,
    cancel: 'now',
  }),
  world('of several cancels the strongest counts, whatever is running', 'q1 d2', {
    eager: 'bold',
    limit: 2,
    cancel: 'all',
    hookAsks: true,
  }),
  world('a wrap that calls next again has further steps when the earlier ones have ended, and none before that', 'r1', {
    eager: true,
    limit: 1,
    again: true,
    sends: 1,
    gate: 'asks',
    cancel: 'after-tools',
  }),
  world('a cancel, or an abort, stops a wrap that calls next again', 'v1', {
    eager: true,
    limit: 1,
    again: true,
    maxSteps: 3,
    abort: true,
    cancel: 'now',
  }),
  world(
    'a background call has a result at once, and an answer waits for its work, whatever stops the run meanwhile',
    'k1',
    { eager: 'bold', limit: 1, cancel: 'all' },
  ),
  world('background work begins once and is read once, whenever the process is killed', 'k1 x2', {
    eager: 'bold',
    limit: 1,
    store: true,
    kill: true,
  }),
  world('work begins once, however often the wraps of its call request it, before and after a question', 'k1', {
    eager: false,
    limit: 1,
    wrap: 'both',
    cancel: 'after-tools',
  }),
  world('the end of a run stops the work for which nothing waits, and detached work goes on', 'l1 t2', {
    eager: true,
    limit: 2,
    cancel: 'now',
    abort: true,
  }),
  world('detached work goes on, even if the gate is slow and a wrap calls next again', 't1', {
    eager: true,
    limit: 1,
    gate: true,
    rejects: 1,
    again: true,
    abort: true,
  }),
  world('without a further step an answer still waits for work, and the caller receives the unread results', 'k1 l2', {
    eager: true,
    limit: 1,
    maxSteps: 2,
    cancelCall: true,
  }),
  world('an agent in the background that asks pauses its run, and continues with its answer', 'j1 k2', {
    eager: true,
    limit: 1,
    partial: true,
    cancel: 'after-tools',
  }),
  world(
    'an agent in the background that is cancelled asks nothing, and one that is detached has its question unanswered',
    'j1 y2',
    { eager: true, limit: 1, cancelCall: true, gate: true },
  ),
  world('sent messages and background results are read before an answer is accepted', 'k1', {
    eager: true,
    limit: 1,
    sends: 1,
    gate: 'asks',
    cancel: 'after-tools',
  }),
  world('work that cannot be stored does not begin, and its run fails', 'k1 l2', {
    eager: true,
    limit: 1,
    store: true,
    saveFails: 1,
  }),
  // What the machine does not have.
  world('three writers of one key and a reader of another share two slots', 'p1 p2 g1 p3', {
    eager: false,
    limit: 2,
    cancelCall: true,
  }),
  world(
    'a read that is made before a write of its own response is made again if the write comes first',
    'g1 b1 ! b1 g1',
    { eager: true, limit: 2, store: true, kill: true },
  ),
  world('inner writers of one key wait for each other, in few slots', 'c1 c2 p3', {
    eager: 'bold',
    limit: 2,
    innerLimit: 1,
    cancel: 'now',
  }),
  world('an agent inside a call is made once, whatever stops the run', 's1 x2', {
    eager: true,
    limit: 1,
    cancel: 'all',
    through: true,
  }),
  world('an agent inside a call goes on after a kill, and a failed attempt leaves it to the next', 's1 r2 ! r2 s1', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('a question of an agent inside a call passes through every wrap, and its answer reaches it', 'u1 x2', {
    eager: 'bold',
    limit: 2,
    through: true,
    store: true,
    kill: true,
  }),
  world('questions of two agents inside calls are answered one by one', 'u1 u2', {
    eager: true,
    limit: 2,
    through: true,
    partial: true,
    cancelCall: true,
  }),
  world('an abort reaches an agent inside a call, and the closing messages pass every wrap', 's1 v2', {
    eager: true,
    limit: 2,
    through: true,
    abort: true,
    sends: 1,
    hookAsks: true,
  }),
  world('a tool that the request did not offer is not executed, early or late', 'o1 r2 ! r2 o1', {
    eager: 'bold',
    limit: 2,
    cancelCall: true,
  }),
  world('a call that was not offered stays so after a resume', 'o1 q2', {
    eager: 'bold',
    limit: 1,
    store: true,
    kill: true,
  }),
  world('two runs share a tool that executes once at a time', 'z1 z2', {
    eager: 'bold',
    limit: 2,
    beside: stepsOf('z3'),
    cancel: 'now',
    cancelCall: true,
  }),
  world('a run that is aborted gives the slot of a shared tool to the other', 'z1 x2', {
    eager: 'bold',
    limit: 1,
    beside: stepsOf('z3 z4'),
    abort: true,
  }),
  world('a store that answers late delays what acts on the world, and repeats nothing after a kill', 'x1 v2', {
    eager: 'bold',
    limit: 2,
    store: 'slow',
    kill: true,
  }),
  world('a slow store and a cancel lose no call', 'i1 x2 ! x2', {
    eager: true,
    limit: 2,
    store: 'slow',
    cancel: 'all',
  }),
  world('a store that fails twice ends the run, and no call starts unstored', 'i1 x2 > x3', {
    eager: true,
    limit: 2,
    store: true,
    saveFails: 2,
  }),
  world('a question whose checkpoint cannot be stored is still asked', 'q1 v2', {
    eager: true,
    limit: 2,
    store: 'slow',
    saveFails: 1,
    partial: true,
  }),
  world('an undo that cannot be stored is reported', 'v1 ! r2', {
    eager: true,
    limit: 1,
    store: true,
    saveFails: 1,
    abort: true,
  }),
  world('a call that starts with a part of its input is executed once, with all of it', 'N1 r2', {
    eager: true,
    limit: 2,
    cancel: 'all',
  }),
  world('a call with a part of its input is discarded when its attempt fails', 'N1 ! N1 r2', {
    eager: true,
    limit: 2,
    cancelCall: true,
    abort: true,
  }),
  world('no checkpoint contains a call whose input is not complete', 'N1 x2', {
    eager: true,
    limit: 2,
    store: true,
    kill: true,
  }),
  world('a tool is warmed up once for a call, whatever becomes of the call', 'W1 r2 ! W1', {
    eager: true,
    limit: 2,
    cancel: 'now',
    cancelCall: true,
  }),
  world('a warm-up ends with its run', 'W1', { eager: true, limit: 1, store: true, kill: true, abort: true }),
  world('a cancel inside any callback of a run with questions loses nothing', 'q1 v2', {
    eager: true,
    limit: 2,
    store: true,
    cancel: 'all',
    hookAsks: true,
  }),
]
