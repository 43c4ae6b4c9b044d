/** The report on a drop-in, as text. */

import type { Checkout } from './checkout.ts'
import type { Comparison, Failure } from './compare.ts'
import type { Added } from './splice/wraps.ts'

const USES: Readonly<Record<keyof Added, string>> = { eager: 'calls started early', resilient: 'models were wrapped' }

export function reportOf(
  { library, version, pinned, files, missing }: Checkout,
  comparison: Comparison,
  add: keyof Added,
): string {
  const { ran, passed, stillPass, uses, warnings, allowed, forbidden } = comparison
  const drift = version === pinned ? '' : ` (the drop-in is tested with ${pinned})`
  return [
    `${library.repository}: ${library.packageName} ${version}${drift}`,
    `  ${files.length} of ${library.files.length} test files${missing.length > 0 ? `; not in this checkout: ${missing.join(', ')}` : ''}`,
    `  unchanged: ${passed} of ${ran} tests pass`,
    `  with ${add}(): ${stillPass} of these ${passed} pass; ${uses} ${USES[add]}`,
    ...(warnings.length > 0
      ? [`  ${warnings.length} warnings of ${add}():`, ...warnings.map((text) => `    ${text}`)]
      : []),
    ...listed(`fail only with ${add}(), and are allowed to`, allowed),
    ...listed(`fail only with ${add}()`, forbidden),
  ].join('\n')
}

function listed(title: string, failures: readonly Failure[]): readonly string[] {
  if (failures.length === 0) return []
  return [`  ${failures.length} ${title}:`, ...failures.map(({ test, reason }) => `    ${test}\n      ${reason}`)]
}
