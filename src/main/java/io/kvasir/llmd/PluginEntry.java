package io.kvasir.llmd;

/**
 * A plugin of an EndpointPickerConfig.
 *
 * @param name by which profiles refer to it
 * @param type what it is
 * @param parameters its parameters, empty where it has none
 * @param line where it begins
 */
record PluginEntry(String name, LlmdPlugin type, YamlSection parameters, int line) {
  /** The plugin as findings call it: by its name, and its type where that is another. */
  String part() {
    return name.equals(type.wireName()) ? name : name + " (" + type.wireName() + ")";
  }
}
