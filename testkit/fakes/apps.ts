/** The app of every environment of the fake platform. */
export function fakeApp(appId: string) {
  return {
    appId,
    accountId: 'acc_1',
    name: 'Shop',
    slug: 'shop',
    port: 8080,
    dockerPreset: 'CUSTOM',
    useImage: false,
    image: null,
    isCliDeployment: true,
    gitNamespace: null,
    gitRepo: null,
    contextDir: null,
    dockerfilePath: null,
    customDockerfileContent: null,
    jobConfig: null,
    isFunction: false,
    isDatabase: false,
    isJob: false,
    createdAt: '2026-11-01T00:00:00.000Z',
    revision: 1,
  }
}
