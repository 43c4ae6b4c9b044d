/** In its own thread: leaves a timer and listeners behind. Posts the error of the watch. */

import { parentPort } from 'node:worker_threads'
import { LeakError, watchLeaks } from '../src/assert/leaks.ts'

const aborter = new AbortController()
const watch = watchLeaks({ signals: [new AbortController().signal, aborter.signal] })
setTimeout(() => {}, 60_000)
for (let i = 0; i < 2; i++) aborter.signal.addEventListener('abort', () => {})
try {
  await watch.assertNone()
} catch (error) {
  if (error instanceof LeakError) parentPort?.postMessage({ message: error.message, leaks: error.leaks })
}
