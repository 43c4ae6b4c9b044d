/** Threads, for tests that measure what other tests in the same process change: the heap, or the timers of the test runner. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Runs a file in its own thread, and returns the first message that the file posts to `parentPort`. The thread has its own heap, its own
 * compiled code and its own timers. `workerData`: what the file gets under this name. Rejects if the file throws, or ends without a message.
 */
export async function postedBy(file: URL, workerData?: unknown): Promise<unknown> {
  const thread = new Worker(file, { workerData, execArgv: ['--conditions=@meanwhile/source', '--no-warnings'] })
  const ended = once(thread, 'exit').then(() => {
    throw new Error('the file has ended without a message')
  })
  try {
    const [message]: readonly unknown[] = await Promise.race([once(thread, 'message'), ended])
    return message
  } finally {
    await thread.terminate()
  }
}
