package io.kvasir.prompt.template;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The value of a missing name or attribute: prints as an empty text, is false and empty, and every other use is an
 * error that names the missing name.
 */
final class Undefined {
  private final Supplier<String> reason;

  private Undefined(Supplier<String> reason) {
    this.reason = reason;
  }

  static Undefined variable(String name) {
    return new Undefined(() -> "'" + name + "' is undefined");
  }

  static Undefined member(@Nullable Object owner, @Nullable Object name) {
    return new Undefined(() -> {
      String type = owner == null ? "None" : "'" + Values.typeName(owner) + " object'";
      return name instanceof String
          ? type + " has no attribute '" + name + "'"
          : type + " has no element " + (name instanceof Long || name instanceof Double ? name : Values.typeName(name));
    });
  }

  static Undefined because(String reason) {
    return new Undefined(() -> reason);
  }

  TemplateException.Evaluation refused() {
    return new TemplateException.Evaluation(reason.get());
  }

  /** All are equal, as dict keys and elements of sets too. */
  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof Undefined;
  }

  @Override
  public int hashCode() {
    return 0;
  }

  @Override
  public String toString() {
    return "";
  }
}
