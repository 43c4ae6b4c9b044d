/** The versions of AG-UI whose clients read our streams. `npm run test:versions` runs the tests of these with `apps/tests/versions/ag-ui-versions.ts`. */

import { HttpAgent } from '@ag-ui/client'
import { type AgUiVersion, agUiVersion } from './ag-ui-client.ts'

export const versions: readonly AgUiVersion[] = [agUiVersion('1.0.0', HttpAgent)]
