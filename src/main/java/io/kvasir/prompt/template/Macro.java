package io.kvasir.prompt.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A macro, or the body of a call block, with the variables around its definition. */
final class Macro implements Callable {
  /**
   * The definition in the source.
   *
   * @param defaults default values of the last parameters
   * @param special those of {@code caller}, {@code varargs} and {@code kwargs} that the body reads
   */
  record Definition(@Nullable String name, List<String> parameters, List<Expr> defaults, List<String> special,
      Stmt.Block body) {}

  private final Definition definition;
  private final Frame outer;
  /** Whether the definition is in an autoescape block. */
  private final boolean escapes;

  Macro(Definition definition, Frame outer) {
    this.definition = definition;
    this.outer = outer;
    this.escapes = outer.render().escapes();
  }

  @Override
  public @Nullable Object call(RenderContext render, Arguments arguments) {
    Frame frame = new Frame(outer);
    return Rope.whole(render.budget(), render.capture(() -> {
      boolean around = render.escapes();
      render.escapes(escapes);
      bind(frame, arguments);
      definition.body().run(frame);
      render.escapes(around);
    }));
  }

  private void bind(Frame frame, Arguments arguments) {
    definition.body().declare(frame);
    List<String> parameters = definition.parameters();
    outer.render().steps(parameters.size());
    outer.render().elements(2L * arguments.keywords().size());
    Map<String, @Nullable Object> keywords = new LinkedHashMap<>(arguments.keywords());
    int firstDefault = parameters.size() - definition.defaults().size();
    boolean complete = true;
    for (int i = 0; i < parameters.size(); i++) {
      String parameter = parameters.get(i);
      if (i < arguments.size()) {
        frame.set(parameter, arguments.get(i));
      } else if (keywords.containsKey(parameter)) {
        frame.set(parameter, keywords.remove(parameter));
      } else {
        complete &= i < firstDefault;
        frame.set(parameter, Undefined.because("parameter '" + parameter + "' was not provided"));
      }
    }
    if (!complete) {
      defaults(frame, arguments, firstDefault);
    }
    List<String> special = definition.special();
    if (special.contains("caller") && !parameters.contains("caller")) {
      Object caller = keywords.remove("caller");
      frame.set("caller", caller == null ? Undefined.because("No caller defined") : caller);
    }
    if (special.contains("kwargs")) {
      frame.set("kwargs", keywords);
    } else if (!keywords.isEmpty()) {
      throw new TemplateException.Evaluation(
          describe() + " takes no keyword argument '" + keywords.keySet().iterator().next() + "'");
    }
    if (special.contains("varargs")) {
      frame.set("varargs", Tuple.of(arguments.after(parameters.size()).positional()));
    } else if (arguments.size() > parameters.size()) {
      throw new TemplateException.Evaluation(
          describe() + " takes not more than " + parameters.size() + " argument(s)");
    }
  }

  /** A default may read any parameter; those that have no value yet are undefined. */
  private void defaults(Frame frame, Arguments arguments, int firstDefault) {
    List<String> parameters = definition.parameters();
    for (int i = Math.max(firstDefault, arguments.size()); i < parameters.size(); i++) {
      if (!arguments.keywords().containsKey(parameters.get(i))) {
        frame.set(parameters.get(i), definition.defaults().get(i - firstDefault).eval(frame));
      }
    }
  }

  private String describe() {
    return definition.name() == null ? "the caller" : "macro '" + definition.name() + "'";
  }

  @Nullable Object attribute(String name) {
    return switch (name) {
      case "name" -> definition.name();
      case "arguments" -> Tuple.copyOf(definition.parameters());
      case "catch_kwargs" -> definition.special().contains("kwargs");
      case "catch_varargs" -> definition.special().contains("varargs");
      case "caller" -> definition.special().contains("caller");
      default -> Undefined.member(this, name);
    };
  }

  @Override
  public String toString() {
    return definition.name() == null ? "<Macro anonymous>" : "<Macro '" + definition.name() + "'>";
  }
}
