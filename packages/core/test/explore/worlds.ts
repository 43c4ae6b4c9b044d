/** The worlds that are explored, and which rule each is there for. */

import type { Scenario } from './world.ts'

export interface ListedWorld {
  /** What it shows. A world that is no longer in this list fails the check of the rules it shows. */
  readonly shows: string
  readonly scenario: Scenario
}

const one = (...calls: Scenario['steps'][number][number]['calls']): Scenario['steps'] => [[{ calls }]]
/** An attempt that fails, and the one that follows. */
const again = (first: Scenario['steps'][number][number]['calls'], second: typeof first): Scenario['steps'] => [
  [{ calls: first, fails: true }, { calls: second }],
]

/** What CI explores. */
export const WORLDS: readonly ListedWorld[] = [
  { shows: 'a call waits for its response, then is made once', scenario: { steps: one('x1'), eager: false, limit: 1 } },
  {
    shows: 'two equal calls of one response are both made',
    scenario: { steps: one('x1', 'x1'), eager: 'bold', limit: 2 },
  },
  {
    shows: 'an equal call of the next attempt joins the one that is made already',
    scenario: { steps: again(['i1', 'r2'], ['r2', 'i1']), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'of two equal calls of a failed attempt one is joined and one is discarded',
    scenario: { steps: again(['i1', 'i1'], ['i1']), eager: true, limit: 1, cancel: 'after-model' },
  },
  {
    shows: 'a discarded call that has succeeded is undone once, also when the process is killed meanwhile',
    scenario: { steps: again(['v1', 'i2'], ['i2']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'an abort wins over a cancel, and what it discards is undone',
    scenario: { steps: again(['v1'], ['r2']), eager: true, limit: 1, cancel: 'now', abort: true },
  },
  {
    shows: 'a question of a call waits for its answer, and one answer is enough to go on with that call',
    scenario: { steps: one('q1', 'q2'), eager: 'bold', limit: 2, partial: true },
  },
  {
    shows: 'a call behind one that asks does not overtake it with one slot',
    scenario: { steps: one('q1', 'x2'), eager: false, limit: 1, cancel: 'now' },
  },
  {
    shows: 'an early call that waits for its response is told when a hook asks',
    scenario: { steps: one('w1', 'r2', 'x3'), eager: true, limit: 2, hookAsks: true },
  },
  {
    shows: 'an early call that makes a graver one does not hold up a run that asks',
    scenario: { steps: one('m1'), eager: true, limit: 1, hookAsks: true, cancel: 'after-tools' },
  },
  {
    shows: 'an early call that makes a graver one is made again after a kill, and what that did is not',
    scenario: { steps: one('m1'), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'a question of an inner call is asked once, and its maker begins again with the answer',
    scenario: { steps: one('n1'), eager: false, limit: 1, store: true, kill: true },
  },
  {
    shows: 'what an inner call asks is dropped when its maker is cancelled',
    scenario: { steps: one('n1'), eager: 'bold', limit: 2, cancelCall: true, abort: true },
  },
  {
    shows: 'a function that does not heed its signal is abandoned, and holds nothing up',
    scenario: { steps: one('d1', 'v2'), eager: true, limit: 1, cancel: 'now' },
  },
  {
    shows: 'of two calls that write one key one executes at a time',
    scenario: { steps: one('p1', 'p2'), eager: 'bold', limit: 2, slowCheck: true, cancelCall: true },
  },
  {
    shows: 'a wrap that repeats a failed execution repeats it after a resume as often as without',
    scenario: { steps: one('f1'), eager: false, limit: 1, wrap: 'retry', store: true, kill: true },
  },
  {
    shows: 'a wrap that asks for two executions and then asks gets each outcome for its input after the resume',
    scenario: { steps: one('x1'), eager: 'bold', limit: 2, wrap: 'both', cancel: 'after-model' },
  },
  {
    shows: 'what cannot be repeated is stored before it is entered, and a failed save ends the run',
    scenario: { steps: one('x1', 'r2', 'r3'), eager: false, limit: 2, store: true, saveFails: true },
  },
  {
    shows: 'a kill at any time makes nothing twice',
    scenario: { steps: one('x1', 'x2'), eager: 'bold', limit: 2, store: true, kill: true },
  },
  {
    shows: 'of a step that is over no call is left, and an equal call of the next step is another one',
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
    shows: 'what a wrap has executed in place of what asks may have happened, whenever the process is killed',
    scenario: { steps: one('h1'), eager: 'bold', limit: 1, wrap: 'catch', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'of two executions at once one asks, and the other may have happened',
    scenario: { steps: one('h1'), eager: false, limit: 2, wrap: 'both', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a hook that asks, a cancel and a kill together neither repeat nor lose a call',
    scenario: { steps: one('v1', 'x2'), eager: true, limit: 2, store: true, hookAsks: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a cancel while a hook asks keeps the question, and what was made early',
    scenario: { steps: one('m1', 'x2'), eager: 'bold', limit: 2, hookAsks: true, cancel: 'now' },
  },
  {
    shows: 'an inner question beside a call that waits for a slot',
    scenario: { steps: one('n1', 'x2'), eager: 'bold', limit: 1, store: true, kill: true },
  },
  {
    shows: 'of two calls that are discarded together each is undone once',
    scenario: { steps: again(['v1', 'v2'], ['v2']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'an abort ends the tries of a wrap that repeats, whatever was cancelled before',
    scenario: { steps: one('f1', 'x2'), eager: 'bold', limit: 2, wrap: 'retry', cancel: 'now', abort: true },
  },
  {
    shows: 'outcomes of two executions at once outlive a cancel and a kill',
    scenario: { steps: one('x1'), eager: 'bold', limit: 2, wrap: 'both', store: true, kill: true, cancel: 'now' },
  },
  {
    shows: 'a call that is cancelled while another asks neither asks nor holds up the answer',
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
    shows: 'a call that another one makes waits for its key, but never for a call that it works for',
    scenario: { steps: one('c1', 'p2'), eager: 'bold', limit: 2, store: true, kill: true, cancelCall: true },
  },
  {
    shows: 'of calls that would wait for each other for ever one fails, and the others go on',
    scenario: { steps: one('a1', 'a2'), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'what calls other tools only is made again, and finds what it had made',
    scenario: { steps: again(['c1', 'r2'], ['r2', 'c1']), eager: true, limit: 2, store: true, kill: true },
  },
  {
    shows: 'of the calls of one maker no more execute at once than may',
    scenario: { steps: one('c1'), eager: true, limit: 1, innerLimit: 1, wrap: 'both', cancel: 'now', cancelCall: true },
  },
  {
    shows: 'in the slot of a call that threw what ends the run nothing starts any more',
    scenario: { steps: one('e1', 'r2', 'x3'), eager: false, limit: 2, slowCheck: true, cancel: 'now' },
  },
  {
    shows: 'an early call that threw what ends the run ends it when the response has stood',
    scenario: { steps: again(['e1', 'r2'], ['e1', 'x3']), eager: 'bold', limit: 2, cancelCall: true },
  },
  {
    shows: 'a call that a wrap saves from what would have ended the run goes on in its slot',
    scenario: { steps: one('e1', 'e2'), eager: 'bold', limit: 1, wrap: 'retry', store: true, kill: true },
  },
  {
    shows: 'what a killed call was about to make waits until that call makes it again',
    scenario: { steps: one('c1', 'p2', 'r3', 'r4'), eager: false, limit: 2, store: true, kill: true },
  },
  {
    shows: 'a call that threw what ends its run, and is not repeated before the run stops, may have happened',
    scenario: { steps: one('e1', 'r2'), eager: false, limit: 1, wrap: 'retry', cancel: 'after-model' },
  },
  {
    shows: 'a read that was made before a write that now stands in front of it is made again',
    scenario: { steps: again(['g1'], ['b1', 'g1']), eager: true, limit: 2, cancelCall: true },
  },
  {
    shows: 'a question of a call of a failed attempt waits for the attempt that asks for that call again',
    scenario: { steps: again(['q1', 'r2'], ['r3', 'q1']), eager: 'bold', limit: 1, cancel: 'after-model' },
  },
  {
    shows: 'what is at work beside a call that asks goes on to its end',
    scenario: { steps: one('q1', 'v2', 'm3'), eager: false, limit: 3, cancel: 'after-tools' },
  },
  {
    shows: 'calls of a killed process wait for their slot again, in the order in which they are asked for',
    scenario: { steps: one('i1', 'r2', 'r3', 'r4'), eager: true, limit: 1, store: true, kill: true },
  },
  {
    shows: 'the reader is told of a call first, then of what it does, and with it of what it makes',
    scenario: { steps: one('m1'), eager: true, limit: 1, hides: 'late', cancel: 'after-tools' },
  },
  {
    shows: 'of a call that is discarded before the reader is told of it nothing is told',
    scenario: { steps: again(['i1'], ['r2']), eager: true, limit: 1, hides: 'late', cancel: 'now' },
  },
  {
    shows: 'a call whose reader is told of another input is discarded, and nothing was told of it',
    scenario: { steps: one('i1'), eager: true, limit: 1, hides: 'other', store: true, kill: true },
  },
  {
    shows: 'an end that was told before a question is not told again after the answer',
    scenario: { steps: one('r1', 'q2'), eager: false, limit: 2, hides: 'late' },
  },
  {
    shows: 'a hook of the gate that is done is not asked again, whatever stops the run and whatever another one asks',
    scenario: { steps: one('i1'), eager: true, limit: 1, gate: 'asks', rejects: 1, cancel: 'all' },
  },
  {
    shows: 'a rejected answer counts toward the limit of steps, and does not stand',
    scenario: { steps: [], eager: false, limit: 1, gate: true, rejects: 9, maxSteps: 3, cancel: 'after-model' },
  },
  {
    shows: 'in the last step there is no call that nothing could read the result of',
    scenario: { steps: [...one('i1'), ...one('x2')], eager: true, limit: 1, maxSteps: 2, sends: 1, cancel: 'all' },
  },
  {
    shows: 'what is sent is read, or it is in the checkpoint, or it was not taken',
    scenario: { steps: one('q1'), eager: 'bold', limit: 1, sends: 1, gate: true, rejects: 1, cancel: 'after-tools' },
  },
  {
    shows: 'what is sent while an answer is judged is read in a further step, whatever stops the run',
    scenario: { steps: [], eager: false, limit: 1, sends: 2, gate: 'asks', cancel: 'all' },
  },
  {
    shows: 'what is sent while the run is aborted, or fails, is not lost',
    scenario: { steps: one('e1'), eager: false, limit: 1, sends: 2, abort: true, cancel: 'now' },
  },
  {
    shows: 'of several cancels the strongest counts, whatever is at work',
    scenario: { steps: one('q1', 'd2'), eager: 'bold', limit: 2, cancel: 'all', hookAsks: true },
  },
  {
    shows: 'a wrap that calls next again has further steps when those before are out, and none before that',
    scenario: { steps: one('r1'), eager: true, limit: 1, again: true, sends: 1, gate: 'asks', cancel: 'after-tools' },
  },
  {
    shows: 'a cancel, or an abort, stops a wrap that calls next again',
    scenario: { steps: one('v1'), eager: true, limit: 1, again: true, maxSteps: 3, abort: true, cancel: 'now' },
  },
  {
    shows: 'a background call is answered at once, and an answer waits for its work, whatever stops the run meanwhile',
    scenario: { steps: one('k1'), eager: 'bold', limit: 1, cancel: 'all' },
  },
  {
    shows: 'work behind a call is begun once and read once, whenever the process is killed',
    scenario: { steps: one('k1', 'x2'), eager: 'bold', limit: 1, store: true, kill: true },
  },
  {
    shows: 'work begins once, however often the wraps of its call ask for it, before and after a question',
    scenario: { steps: one('k1'), eager: false, limit: 1, wrap: 'both', cancel: 'after-tools' },
  },
  {
    shows: 'the end of a run stops the work that nobody waits for, and what is detached goes on beyond it',
    scenario: { steps: one('l1', 't2'), eager: true, limit: 2, cancel: 'now', abort: true },
  },
  {
    shows: 'work that is detached goes on, though the gate takes its time, and a wrap calls next again',
    scenario: { steps: one('t1'), eager: true, limit: 1, gate: true, rejects: 1, again: true, abort: true },
  },
  {
    shows: 'with no step left an answer waits for work all the same, and the caller is given what nobody has read',
    scenario: { steps: one('k1', 'l2'), eager: true, limit: 1, maxSteps: 2, cancelCall: true },
  },
  {
    shows: 'an agent in the background that asks pauses its run, and goes on with its answer',
    scenario: { steps: one('j1', 'k2'), eager: true, limit: 1, partial: true, cancel: 'after-tools' },
  },
  {
    shows:
      'an agent in the background that is cancelled asks nothing, and one that is detached has its question unanswered',
    scenario: { steps: one('j1', 'y2'), eager: true, limit: 1, cancelCall: true, gate: true },
  },
  {
    shows: 'what is sent, and what work comes to, is read before an answer stands',
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
