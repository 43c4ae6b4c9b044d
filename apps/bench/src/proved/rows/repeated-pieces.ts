/** LibreChat's agents have fixed it: arguments with equal pieces start early as they are, and once. */

import { call, respond, say } from '@meanwhile/assemble/testing'
import { librechat } from '../../peers/drivers/librechat.ts'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'

const DELTAS = ['{"to":"Bo","text":"', 'INSERT INTO t VALUES (1); ', 'INSERT INTO t VALUES (1); ', '"}']

const input = {
  wire: 'anthropic',
  script: [
    respond(call('send', DELTAS.join(''), { deltas: DELTAS }), call('send', { to: 'Al', text: 'Hi.' })),
    respond(say('Done.')),
  ],
} as const

const ASKED =
  'the tool ran with {"to":"Bo","text":"INSERT INTO t VALUES (1); INSERT INTO t VALUES (1); "}, the tool ran with {"to":"Al","text":"Hi."}; the answer is "Done."'

export const repeatedPieces: Row = {
  title: 'An early call whose arguments contain equal pieces',
  library: 'LibreChat’s agents',
  thread: { name: 'danny-avila/LibreChat#14371', status: '2026-07, closed' },
  test: {
    file: 'packages/eager-tools/src/changed-calls.test.ts',
    title: 'arguments that contain equal pieces start early as they are, and once',
  },
  trial: playedTrial({
    folder: 'librechat',
    packages: ['@librechat/agents'],
    right: 'both',
    input,
    driver: librechat,
    effect: 'read',
    expected: { theirs: ASKED, ours: ASKED },
  }),
}
