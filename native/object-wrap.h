/*
 * Compiled in front of better-sqlite3 12 (-include). Since Node 24.19 the headers' ObjectWrap takes a clean-up hook of the environment
 * and gives it back in its destructor; that aborts the process when the collector runs outside of JavaScript, as it does when the loop
 * is idle ("RemoveEnvironmentCleanupHook: (env) != nullptr"). Here ObjectWrap takes none, as before 24.19: the hook only freed objects
 * that still lived when the process ended. Other uses of the hooks stay as they are.
 */
#ifdef __cplusplus
#include <node.h>
namespace node {
inline void NoCleanupHook(v8::Isolate *, void (*)(void *), void *) {}
}  // namespace node
#define AddEnvironmentCleanupHook NoCleanupHook
#define RemoveEnvironmentCleanupHook NoCleanupHook
#include <node_object_wrap.h>
#undef AddEnvironmentCleanupHook
#undef RemoveEnvironmentCleanupHook
#endif
