/** After each test: providers accept what its scripted models were asked, on every wire. */

import { sized } from '@meanwhile/tests/size'
import { afterEach } from 'vitest'
import { refusedRequests } from './refused-requests.ts'
import { modelsMade } from './watched-models.ts'

/** The tests whose requests are odd on purpose: the file, the beginning of the title, and the reason. */
const ODD: readonly (readonly [file: string, title: string, reason: string])[] = [
  ['handed.test.ts', 'writing to anything that a run passes out', 'it writes into the requests that the model keeps'],
  ['history.test.ts', 'metadata that contains itself', 'it cannot be written as JSON'],
]

/** A test that asks more is checked by a part of its requests, spread over its models. In larger runs all are checked. */
const MOST = sized({ small: 200, middle: Number.POSITIVE_INFINITY, whole: Number.POSITIVE_INFINITY })

afterEach(({ task }) => {
  const models = modelsMade()
  if (ODD.some(([file, title]) => task.file.name.endsWith(`/${file}`) && task.name.startsWith(title))) return
  const asked = models.reduce((sum, { requests }) => sum + requests.length, 0)
  const every = Math.max(1, Math.ceil(asked / MOST))
  let place = 0
  const refused = models.flatMap((model) => refusedRequests(model, () => place++ % every === 0))
  if (refused.length > 0) throw new Error(['providers would refuse', ...refused].join('\n  '))
})
