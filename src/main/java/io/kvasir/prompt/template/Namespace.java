package io.kvasir.prompt.template;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A namespace object, whose attributes inner scopes may write: {@code set ns.found = true}. */
final class Namespace {
  private final Map<String, @Nullable Object> attributes = new LinkedHashMap<>();

  void set(String name, @Nullable Object value) {
    if (name.startsWith("_")) {
      throw new TemplateException.Evaluation(
          "a namespace's attributes may not begin with an underscore, but '" + name + "' does");
    }
    attributes.put(name, value);
  }

  @Nullable Object get(String name) {
    Object value = attributes.get(name);
    return value != null || attributes.containsKey(name) ? value : Undefined.member(this, name);
  }

  Map<String, @Nullable Object> attributes() {
    return attributes;
  }
}
