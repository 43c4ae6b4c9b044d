/** The report on a drop-in, as text. */

import type { Checkout } from './checkout.ts'
import type { Comparison, Failure } from './compare.ts'

export function reportOf({ library, version, pinned, files, missing }: Checkout, comparison: Comparison): string {
  const { ran, passed, stillPass, earlyCalls, warnings, allowed, forbidden } = comparison
  const drift = version === pinned ? '' : ` (the drop-in is tested with ${pinned})`
  return [
    `${library.repository}: ${library.packageName} ${version}${drift}`,
    `  ${files.length} of ${library.files.length} test files${missing.length > 0 ? `; not in this checkout: ${missing.join(', ')}` : ''}`,
    `  unchanged: ${passed} of ${ran} tests pass`,
    `  with the drop-in: ${stillPass} of these ${passed} pass; ${earlyCalls} calls started early`,
    ...(warnings.length > 0
      ? [`  ${warnings.length} warnings of the drop-in:`, ...warnings.map((text) => `    ${text}`)]
      : []),
    ...listed('fail only with the drop-in, and are allowed to', allowed),
    ...listed('fail only with the drop-in', forbidden),
  ].join('\n')
}

function listed(title: string, failures: readonly Failure[]): readonly string[] {
  if (failures.length === 0) return []
  return [`  ${failures.length} ${title}:`, ...failures.map(({ test, reason }) => `    ${test}\n      ${reason}`)]
}
