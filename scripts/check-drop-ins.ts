// Runs the tests of a library that we have a drop-in for, in a checkout of that library: once unchanged, and once with the drop-in,
// which is `eager()` or `resilient()`. Fails if a test fails only with it and is not on the list of allowed failures.
import { allowedFailures } from './drop-ins/allowed.ts'
import { CheckoutError, checkoutAt } from './drop-ins/checkout.ts'
import { compared } from './drop-ins/compare.ts'
import { type DropInsOptions, dropInsOptions, helpText, OptionError } from './drop-ins/options.ts'
import { reportOf } from './drop-ins/report.ts'
import { runTests } from './drop-ins/run-tests.ts'
import { StoppedError, stoppedBySignals } from './drop-ins/signals.ts'

async function check({ path, paced, add, minutes }: DropInsOptions, stop: AbortSignal): Promise<number> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(minutes * 60_000)])
  const checkout = checkoutAt(path)
  if (add === 'resilient' && checkout.library.name !== 'ai-sdk')
    throw new OptionError(`--resilient is not for ${checkout.library.repository}`)
  const plain = await runTests(checkout, { paced, signal })
  const added = await runTests(checkout, { add, paced, signal })
  const comparison = compared(plain, added, allowedFailures(checkout.library.name, add))
  console.log(reportOf(checkout, comparison, add))
  return comparison.forbidden.length > 0 ? 1 : 0
}

// The second Ctrl-C ends this process at once.
const stop = stoppedBySignals(process, (exitCode) => process.exit(exitCode))
try {
  const options = dropInsOptions(process.argv.slice(2))
  if (options === 'help') console.log(helpText())
  else process.exitCode = await check(options, stop)
} catch (error) {
  const reason: unknown = stop.reason
  if (reason instanceof StoppedError) {
    process.exitCode = reason.exitCode
  } else if (error instanceof OptionError) {
    console.error(`error: ${error.message} (see --help)`)
    process.exitCode = 2
  } else if (error instanceof CheckoutError) {
    console.error(`error: ${error.message}`)
    process.exitCode = 2
  } else if (error instanceof DOMException && error.name === 'TimeoutError') {
    console.error('error: the time is up; allow more with --minutes')
    process.exitCode = 3
  } else {
    throw error
  }
}
