// Plugins that cannot be loaded: without an entry, or with one that calls what nobody defines.
#ifdef TEST_PLUGIN_UNDEFINED
extern "C" void nobody_defines_this();
extern "C" const void* rope_kernels_v1() {
  nobody_defines_this();
  return nullptr;
}
#endif
