import 'uplot/dist/uPlot.min.css'
import './styles/tokens.css'
import './styles/base.css'
import './styles/shell.css'
import './styles/components.css'
import './styles/approvals.css'
import './styles/dialog.css'
import './styles/charts.css'
import './styles/forms.css'
import './styles/narrow.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { drafts } from './api/drafts.ts'
import { createQueryClient } from './api/queries.ts'
import { createConsoleRouter } from './router.tsx'
import { applyTheme } from './shell/theme.ts'

applyTheme()
// Left out of production builds.
if (process.env.NODE_ENV === 'development')
  void import('./api/reload-on-change.ts').then((module) => module.reloadOnChange())
const router = createConsoleRouter()
const queries = createQueryClient(() => {
  const { pathname, search } = location
  if (pathname === '/console/sign-in') return
  drafts.sessionEnded()
  void router.navigate({ to: '/sign-in', search: { next: pathname + search }, replace: true })
})
const root = document.getElementById('console')
if (!root) throw new Error('the element #console is missing in the shell')
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
)
