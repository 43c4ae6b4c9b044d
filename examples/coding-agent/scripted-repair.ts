/** The responses of a scripted model: it finds the fault, repairs it, and runs the tests again. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import type { ScriptedReply } from '@meanwhile/harness'

const read = (path: string) => call('read_file', { path })

export const scriptedRepair: readonly ScriptedReply[] = [
  respond(
    call('task_create', { subject: 'Find the fault' }),
    call('task_create', { subject: 'Repair it', addBlockedBy: [1] }),
  ),
  respond(say('I look at the code and its test.'), read('mean.js'), read('mean.test.js'), call('run_tests')),
  respond(
    call('task_update', { id: 1, status: 'completed' }),
    call('edit_file', { path: 'mean.js', oldText: '/ 2', newText: '/ list.length' }),
  ),
  // The history is long by now: this summary replaces it.
  respond(say('mean.js divided by 2; it now divides by list.length. Left: run the tests, complete task 2.')),
  respond(call('run_tests')),
  respond(call('task_update', { id: 2, status: 'completed' }), call('task_list')),
  respond(say('mean() divided by 2 whatever the length of the list. It is repaired, and the tests pass.')),
]
