/** The versions of AG-UI that CopilotKit and assistant-ui install, instead of `packages/ui/test/ag-ui-versions.ts`. */

import { HttpAgent as HttpAgent58 } from '@ag-ui/client-58'
import { HttpAgent as HttpAgent59 } from '@ag-ui/client-59'
import { type AgUiVersion, agUiVersion } from '../../../packages/ui/test/ag-ui-client.ts'

export const versions: readonly AgUiVersion[] = [agUiVersion('0.0.58', HttpAgent58), agUiVersion('0.0.59', HttpAgent59)]
