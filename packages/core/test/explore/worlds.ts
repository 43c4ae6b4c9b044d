/** The worlds that are explored, and the rule for which each is listed. */

import type { Scenario } from './world.ts'

export interface ListedWorld {
  /** What it shows. If a world is removed from this list, the check of the rules it shows fails. */
  readonly shows: string
  readonly scenario: Scenario
}

const one = (...calls: Scenario['steps'][number][number]['calls']): Scenario['steps'] => [[{ calls }]]
/** An attempt that fails, and the one that follows. */
const again = (first: Scenario['steps'][number][number]['calls'], second: typeof first): Scenario['steps'] => [
  [{ calls: first, fails: true }, { calls: second }],
]

/** The worlds that CI explores. */
export const WORLDS: readonly ListedWorld[] = [
  { shows: 'a call waits for its response, then is made once', scenario: { steps: one('x1'), eager: false, limit: 1 } },
  {
    shows: 'two equal calls of one response are both made',
    scenario: { steps: one('x1', 'x1'), eager: 'bold', limit: 2 },
  },
  {
    shows: 'an equal call of the next attempt joins the existing one',
    scenario: { steps: again(['i1', 'r2'], ['r2', 'i1']), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'if a failed attempt has two equal calls, one is joined and one is discarded',
    scenario: { steps: again(['i1', 'i1'], ['i1']), eager: true, limit: 1, cancel: 'after-model' },
  },
  {
    shows: 'a discarded call that has succeeded is undone once, also when the process is killed meanwhile',
    scenario: { steps: again(['v1', 'i2'], ['i2']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'an abort replaces a cancel, and the calls it discards are undone',
    scenario: { steps: again(['v1'], ['r2']), eager: true, limit: 1, cancel: 'now', abort: true },
  },
  {
    shows: 'a question of a call waits for its answer, and one answer is enough to continue that call',
    scenario: { steps: one('q1', 'q2'), eager: 'bold', limit: 2, partial: true },
  },
  {
    shows: 'with one slot a call does not overtake an earlier one that asks',
    scenario: { steps: one('q1', 'x2'), eager: false, limit: 1, cancel: 'now' },
  },
  {
    shows: 'an early call that waits for its response is stopped when a hook asks',
    scenario: { steps: one('w1', 'r2', 'x3'), eager: true, limit: 2, hookAsks: true },
  },
  {
    shows: 'an early call with an inner call that must wait does not delay a run that asks',
    scenario: { steps: one('m1'), eager: true, limit: 1, hookAsks: true, cancel: 'after-tools' },
  },
  {
    shows: 'an early call with an inner call that must wait is made again after a kill, but the inner call is not',
    scenario: { steps: one('m1'), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'a question of an inner call is asked once, and its maker begins again with the answer',
    scenario: { steps: one('n1'), eager: false, limit: 1, store: true, kill: true },
  },
  {
    shows: 'the question of an inner call is dropped when its maker is cancelled',
    scenario: { steps: one('n1'), eager: 'bold', limit: 2, cancelCall: true, abort: true },
  },
  {
    shows: 'a function that ignores its signal is abandoned, and delays nothing',
    scenario: { steps: one('d1', 'v2'), eager: true, limit: 1, cancel: 'now' },
  },
  {
    shows: 'two calls that write one key execute one at a time',
    scenario: { steps: one('p1', 'p2'), eager: 'bold', limit: 2, slowCheck: true, cancelCall: true },
  },
  {
    shows: 'a wrap that repeats a failed execution repeats it after a resume as often as without',
    scenario: { steps: one('f1'), eager: false, limit: 1, wrap: 'retry', store: true, kill: true },
  },
  {
    shows: 'a wrap that starts two executions and then asks gets each outcome for its input after the resume',
    scenario: { steps: one('x1'), eager: 'bold', limit: 2, wrap: 'both', cancel: 'after-model' },
  },
  {
    shows: 'a call that cannot be repeated is stored before it is entered, and a failed save ends the run',
    scenario: { steps: one('x1', 'r2', 'r3'), eager: false, limit: 2, store: true, saveFails: true },
  },
  {
    shows: 'after a kill at any time nothing is made twice',
    scenario: { steps: one('x1', 'x2'), eager: 'bold', limit: 2, store: true, kill: true },
  },
  {
    shows: 'no call of an earlier step is left, and an equal call of the next step is another one',
    scenario: { steps: [[{ calls: ['x1'] }], [{ calls: ['x1'] }]], eager: 'bold', limit: 1, cancel: 'after-tools' },
  },
  {
    shows: 'a failed attempt leaves its calls to the next one, and a kill loses none of them',
    scenario: { steps: again(['i1', 'r2'], ['r2', 'i1']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'a question is asked once, whenever the process is killed',
    scenario: { steps: one('q1', 'x2'), eager: 'bold', limit: 2, store: true, kill: true, partial: true },
  },
  {
    shows: 'an execution with which a wrap replaced one that asks may have happened, whenever the process is killed',
    scenario: { steps: one('h1'), eager: 'bold', limit: 1, wrap: 'catch', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'if one of two parallel executions asks, the other may have happened',
    scenario: { steps: one('h1'), eager: false, limit: 2, wrap: 'both', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a hook that asks, a cancel and a kill together neither repeat nor lose a call',
    scenario: { steps: one('v1', 'x2'), eager: true, limit: 2, store: true, hookAsks: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a cancel while a hook asks keeps the question, and the early calls',
    scenario: { steps: one('m1', 'x2'), eager: 'bold', limit: 2, hookAsks: true, cancel: 'now' },
  },
  {
    shows: 'an inner call asks while another call waits for a slot',
    scenario: { steps: one('n1', 'x2'), eager: 'bold', limit: 1, store: true, kill: true },
  },
  {
    shows: 'two calls that are discarded together are each undone once',
    scenario: { steps: again(['v1', 'v2'], ['v2']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'an abort ends the retries of a wrap, whatever was cancelled before',
    scenario: { steps: one('f1', 'x2'), eager: 'bold', limit: 2, wrap: 'retry', cancel: 'now', abort: true },
  },
  {
    shows: 'outcomes of two parallel executions are kept after a cancel and a kill',
    scenario: { steps: one('x1'), eager: 'bold', limit: 2, wrap: 'both', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a call that is cancelled while another asks neither asks nor delays the answer',
    scenario: {
      steps: one('w1', 'q2'),
      eager: true,
      limit: 2,
      hookAsks: true,
      partial: true,
      cancel: 'after-model',
      cancelCall: true,
    },
  },
  {
    shows: 'an inner call waits for its key, but never for one of its makers',
    scenario: { steps: one('c1', 'p2'), eager: 'bold', limit: 2, store: true, kill: true, cancelCall: true },
  },
  {
    shows: 'if calls would wait for each other forever, one fails and the others go on',
    scenario: { steps: one('a1', 'a2'), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'a call that only calls other tools is made again, and finds its inner calls',
    scenario: { steps: again(['c1', 'r2'], ['r2', 'c1']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'no more inner calls of one maker execute at the same time than allowed',
    scenario: { steps: one('c1'), eager: true, limit: 1, innerLimit: 1, wrap: 'both', cancel: 'now', cancelCall: true },
  },
  {
    shows: 'in the slot of a call that threw an error that ends the run nothing else starts',
    scenario: { steps: one('e1', 'r2', 'x3'), eager: false, limit: 2, slowCheck: true, cancel: 'now' },
  },
  {
    shows: 'an early call that threw an error that ends the run ends it when the response is accepted',
    scenario: { steps: again(['e1', 'r2'], ['e1', 'x3']), eager: 'bold', limit: 2, cancelCall: true },
  },
  {
    shows: 'a call continues in its slot if a wrap catches the error that would have ended the run',
    scenario: { steps: one('e1', 'e2'), eager: 'bold', limit: 1, wrap: 'retry', store: true, kill: true },
  },
  {
    shows: 'an inner call that a killed call was about to make waits until its maker makes it again',
    scenario: { steps: one('c1', 'p2', 'r3', 'r4'), eager: false, limit: 2, store: true, kill: true },
  },
  {
    shows: 'a call that threw an error that ends its run, and is not repeated before the run stops, may have happened',
    scenario: { steps: one('e1', 'r2'), eager: false, limit: 1, wrap: 'retry', cancel: 'after-model' },
  },
  {
    shows: 'a read that was made before a write that now comes first is made again',
    scenario: { steps: again(['g1'], ['b1', 'g1']), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'a question of a call of a failed attempt waits for the attempt that requests that call again',
    scenario: { steps: again(['q1', 'r2'], ['r3', 'q1']), eager: 'bold', limit: 1, cancel: 'after-model' },
  },
  {
    shows: 'calls that run in parallel with one that asks go on to their ends',
    scenario: { steps: one('q1', 'v2', 'm3'), eager: false, limit: 3, cancel: 'after-tools' },
  },
  {
    shows: 'calls of a killed process wait for their slot again, in the order in which they are requested',
    scenario: { steps: one('i1', 'r2', 'r3', 'r4'), eager: true, limit: 1, store: true, kill: true },
  },
  {
    shows: 'the reader sees a call first, then its events, together with its inner calls',
    scenario: { steps: one('m1'), eager: true, limit: 1, hides: 'late', cancel: 'after-tools' },
  },
  {
    shows: 'the reader sees nothing of a call that is discarded before it was shown',
    scenario: { steps: again(['i1'], ['r2']), eager: true, limit: 1, hides: 'late', cancel: 'now' },
  },
  {
    shows: 'a call whose reader sees another input is discarded, and has emitted nothing',
    scenario: { steps: one('i1'), eager: true, limit: 1, hides: 'other', store: true, kill: true },
  },
  {
    shows: 'an end that was shown before a question is not shown again after the answer',
    scenario: { steps: one('r1', 'q2'), eager: false, limit: 2, hides: 'late' },
  },
  {
    shows: 'a finished hook of the gate does not run again, whatever stops the run and whatever another one asks',
    scenario: { steps: one('i1'), eager: true, limit: 1, gate: 'asks', rejects: 1, cancel: 'all' },
  },
  {
    shows: 'a rejected answer counts toward the limit of steps, and is not accepted',
    scenario: { steps: [], eager: false, limit: 1, gate: true, rejects: 9, maxSteps: 3, cancel: 'after-model' },
  },
  {
    shows: 'the last step has no call whose result could not be read',
    scenario: { steps: [...one('i1'), ...one('x2')], eager: true, limit: 1, maxSteps: 2, sends: 1, cancel: 'all' },
  },
  {
    shows: 'a sent message is read, or it is in the checkpoint, or it was refused',
    scenario: { steps: one('q1'), eager: 'bold', limit: 1, sends: 1, gate: true, rejects: 1, cancel: 'after-tools' },
  },
  {
    shows: 'a message that is sent while an answer is judged is read in a further step, whatever stops the run',
    scenario: { steps: [], eager: false, limit: 1, sends: 2, gate: 'asks', cancel: 'all' },
  },
  {
    shows: 'a message that is sent while the run is aborted, or fails, is not lost',
    scenario: { steps: one('e1'), eager: false, limit: 1, sends: 2, abort: true, cancel: 'now' },
  },
  {
    shows: 'of several cancels the strongest counts, whatever is running',
    scenario: { steps: one('q1', 'd2'), eager: 'bold', limit: 2, cancel: 'all', hookAsks: true },
  },
  {
    shows: 'a wrap that calls next again has further steps when the earlier ones have ended, and none before that',
    scenario: { steps: one('r1'), eager: true, limit: 1, again: true, sends: 1, gate: 'asks', cancel: 'after-tools' },
  },
  {
    shows: 'a cancel, or an abort, stops a wrap that calls next again',
    scenario: { steps: one('v1'), eager: true, limit: 1, again: true, maxSteps: 3, abort: true, cancel: 'now' },
  },
  {
    shows: 'a background call has a result at once, and an answer waits for its work, whatever stops the run meanwhile',
    scenario: { steps: one('k1'), eager: 'bold', limit: 1, cancel: 'all' },
  },
  {
    shows: 'background work begins once and is read once, whenever the process is killed',
    scenario: { steps: one('k1', 'x2'), eager: 'bold', limit: 1, store: true, kill: true },
  },
  {
    shows: 'work begins once, however often the wraps of its call request it, before and after a question',
    scenario: { steps: one('k1'), eager: false, limit: 1, wrap: 'both', cancel: 'after-tools' },
  },
  {
    shows: 'the end of a run stops the work for which nothing waits, and detached work goes on',
    scenario: { steps: one('l1', 't2'), eager: true, limit: 2, cancel: 'now', abort: true },
  },
  {
    shows: 'detached work goes on, even if the gate is slow and a wrap calls next again',
    scenario: { steps: one('t1'), eager: true, limit: 1, gate: true, rejects: 1, again: true, abort: true },
  },
  {
    shows: 'without a further step an answer still waits for work, and the caller receives the unread results',
    scenario: { steps: one('k1', 'l2'), eager: true, limit: 1, maxSteps: 2, cancelCall: true },
  },
  {
    shows: 'an agent in the background that asks pauses its run, and continues with its answer',
    scenario: { steps: one('j1', 'k2'), eager: true, limit: 1, partial: true, cancel: 'after-tools' },
  },
  {
    shows:
      'an agent in the background that is cancelled asks nothing, and one that is detached has its question unanswered',
    scenario: { steps: one('j1', 'y2'), eager: true, limit: 1, cancelCall: true, gate: true },
  },
  {
    shows: 'sent messages and background results are read before an answer is accepted',
    scenario: { steps: one('k1'), eager: true, limit: 1, sends: 1, gate: 'asks', cancel: 'after-tools' },
  },
  {
    shows: 'work that cannot be stored does not begin, and its run fails',
    scenario: { steps: one('k1', 'l2'), eager: true, limit: 1, store: true, saveFails: true },
  },
]

/** Every combination of these, for a long run. */
export function* allWorlds(): Generator<Scenario> {
  const steps: readonly Scenario['steps'][] = [
    one('x1'),
    one('x1', 'x1'),
    one('q1', 'x2'),
    one('h1'),
    one('w1', 'x2'),
    one('m1'),
    one('n1'),
    one('d1', 'v2'),
    one('p1', 'p2'),
    one('f1'),
    again(['i1', 'r2'], ['r2', 'i1']),
    again(['i1', 'i1'], ['i1']),
    again(['v1'], ['r2']),
    again(['q1', 'q2'], ['q2', 'q1']),
    again(['g1'], ['b1', 'g1']),
    one('c1', 'p2'),
    one('a1', 'a2'),
    one('e1', 'r2'),
    [[{ calls: ['x1'] }], [{ calls: ['x1', 'r2'] }]],
    one('k1', 't2'),
    one('l1', 'j2'),
  ]
  const happenings: readonly Partial<Scenario>[] = [
    {},
    { cancel: 'now' },
    { cancel: 'after-model' },
    { cancel: 'after-tools' },
    { abort: true },
    { cancelCall: true },
    { cancel: 'now', abort: true },
    { cancel: 'now', cancelCall: true },
    { store: true, kill: true },
    { store: true, saveFails: true },
    { gate: 'asks', rejects: 1, cancel: 'all' },
    { again: true, sends: 1, maxSteps: 2, cancel: 'after-tools' },
  ]
  for (const of of steps)
    for (const eager of [true, false, 'bold'] as const)
      for (const limit of [1, 2])
        for (const wrap of [undefined, 'retry', 'catch', 'both'] as const)
          for (const hookAsks of [undefined, true] as const)
            for (const more of happenings)
              yield {
                steps: of,
                eager,
                limit,
                partial: true,
                ...(wrap && { wrap }),
                ...(hookAsks && { hookAsks }),
                ...more,
              }
}
