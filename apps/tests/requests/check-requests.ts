/** After each test: providers accept what its scripted models were asked, on every wire. */

import { afterEach } from 'vitest'
import { refusedRequests } from './refused-requests.ts'
import { modelsMade } from './watched-models.ts'

/** The tests whose requests are odd on purpose: the file, the beginning of the title, and the reason. */
const ODD: readonly (readonly [file: string, title: string, reason: string])[] = [
  ['handed.test.ts', 'writing to anything that a run passes out', 'it writes into the requests that the model keeps'],
  ['history.test.ts', 'metadata that contains itself', 'it cannot be written as JSON'],
]

afterEach(({ task }) => {
  const models = modelsMade()
  if (ODD.some(([file, title]) => task.file.name.endsWith(`/${file}`) && task.name.startsWith(title))) return
  const refused = models.flatMap(refusedRequests)
  if (refused.length > 0) throw new Error(['providers would refuse', ...refused].join('\n  '))
})
