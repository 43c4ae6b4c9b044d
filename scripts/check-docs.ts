// Checks the pages: node --conditions=@meanwhile/source scripts/check-docs.ts --check. All in one process, because each check starts for
// longer than it works.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const CHECKS = [
  'scripts/quirks-page.ts',
  'scripts/refusals-page.ts',
  'apps/bench/src/other-requests/index.ts',
  'scripts/telemetry-page.ts',
  'scripts/sizes-page.ts',
  'packages/core/test/machine-tables.ts',
  'apps/bench/src/pictures/index.ts',
  'scripts/check-blocks.ts',
  'scripts/check-events.ts',
  'scripts/check-headline.ts',
  'scripts/check-links.ts',
]

// Each sets the exit code if a page is wrong.
for (const check of CHECKS) await import(pathToFileURL(resolve(check)).href)
