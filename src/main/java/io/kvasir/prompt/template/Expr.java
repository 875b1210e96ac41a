package io.kvasir.prompt.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** An expression of a template's syntax tree, with its evaluation. */
sealed interface Expr {
  /**
   * The expression's value; charges it as a step, and as a level of nesting while it is computed. Constants and
   * variables are free: what they are operands of charges them.
   */
  default @Nullable Object eval(Frame frame) {
    RenderContext render = frame.render();
    render.enter();
    Object value = compute(frame);
    render.leave();
    return value;
  }

  /** The value, its own step already charged. */
  @Nullable Object compute(Frame frame);

  /** A constant. */
  record Const(@Nullable Object value) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return value;
    }

    @Override
    public @Nullable Object compute(Frame frame) {
      return value;
    }
  }

  /** A variable; the name is interned. */
  record Name(String name) implements Expr {
    @Override
    public @Nullable Object eval(Frame frame) {
      return frame.get(name);
    }

    @Override
    public @Nullable Object compute(Frame frame) {
      return frame.get(name);
    }
  }

  /** {@code [a, b]}, or {@code (a, b)}. */
  record Sequence(List<Expr> elements, boolean tuple) implements Expr {
    @Override
    public Object compute(Frame frame) {
      frame.render().elements(elements.size());
      @Nullable Object[] values = new Object[elements.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = elements.get(i).eval(frame);
      }
      return tuple ? Tuple.of(values) : new ArrayList<>(Tuple.of(values));
    }
  }

  /** {@code {key: value}}. */
  record Dict(List<Expr> keys, List<Expr> values) implements Expr {
    @Override
    public Object compute(Frame frame) {
      Map<@Nullable Object, @Nullable Object> dict = new LinkedHashMap<>();
      for (int i = 0; i < keys.size(); i++) {
        Values.put(frame.render(), dict, keys.get(i).eval(frame), values.get(i).eval(frame));
      }
      return dict;
    }
  }

  /** {@code value if condition else otherwise}. */
  record Condition(Expr condition, Expr value, @Nullable Expr otherwise) implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      if (Values.truth(condition.eval(frame))) {
        return value.eval(frame);
      }
      return otherwise != null ? otherwise.eval(frame) : Undefined.because(
          "the inline if-expression evaluated to false and no else section was defined");
    }
  }

  /** {@code not value}. */
  record Not(Expr value) implements Expr {
    @Override
    public Object compute(Frame frame) {
      return !Values.truth(value.eval(frame));
    }
  }

  /** {@code left and right}, or {@code or}: the operand that decides. */
  record Logic(boolean and, Expr left, Expr right) implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      Object value = left.eval(frame);
      return Values.truth(value) == and ? right.eval(frame) : value;
    }
  }

  /** {@code -value} or {@code +value}. */
  record Sign(boolean minus, Expr value) implements Expr {
    @Override
    public Object compute(Frame frame) {
      Object number = value.eval(frame);
      return minus ? Numbers.negate(number) : Numbers.negate(Numbers.negate(number));
    }
  }

  /** {@code + - * / // % **}. */
  record Arithmetic(String operator, Expr left, Expr right) implements Expr {
    @Override
    public Object compute(Frame frame) {
      return Operators.apply(frame.render(), operator, left.eval(frame), right.eval(frame));
    }
  }

  /** {@code a ~ b ~ c}. */
  record Concat(List<Expr> parts) implements Expr {
    @Override
    public Object compute(Frame frame) {
      frame.render().steps(parts.size());
      String[] texts = new String[parts.size()];
      long length = 0;
      for (int i = 0; i < texts.length; i++) {
        texts[i] = Values.str(frame.render(), parts.get(i).eval(frame));
        length += texts[i].length();
      }
      frame.render().reserve(length);
      return String.join("", texts);
    }
  }

  /** {@code a < b <= c}: each neighbouring pair must compare so. */
  record Compare(Expr first, List<String> operators, List<Expr> rest) implements Expr {
    @Override
    public Object compute(Frame frame) {
      frame.render().steps(operators.size());
      Object left = first.eval(frame);
      for (int i = 0; i < operators.size(); i++) {
        Object right = rest.get(i).eval(frame);
        if (!Operators.compare(frame.render(), operators.get(i), left, right)) {
          return false;
        }
        left = right;
      }
      return true;
    }
  }

  /** {@code value.name}. */
  record Attribute(Expr value, String name) implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      return Attributes.get(frame.render(), value.eval(frame), name);
    }
  }

  /** {@code value[index]}. */
  record Item(Expr value, Expr index) implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      return Values.item(frame.render(), value.eval(frame), index.eval(frame));
    }
  }

  /** {@code value[start:stop:step]}. */
  record Slice(Expr value, @Nullable Expr start, @Nullable Expr stop, @Nullable Expr step) implements Expr {
    @Override
    public Object compute(Frame frame) {
      return Operators.slice(frame.render(), value.eval(frame), bound(start, frame), bound(stop, frame),
          bound(step, frame));
    }

    private static @Nullable Long bound(@Nullable Expr expr, Frame frame) {
      Object value = expr == null ? null : expr.eval(frame);
      return value == null ? null : (Long) Numbers.integer(value);
    }
  }

  /** {@code callee(arguments)}. */
  record Call(Expr callee, CallArguments arguments) implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      return call(frame, null);
    }

    /** With the body of a call block, if there is one. */
    @Nullable Object call(Frame frame, @Nullable Macro caller) {
      if (callee instanceof Attribute(Expr value, String name)) {
        Object self = value.eval(frame);
        return Attributes.call(frame.render(), self, name, withCaller(frame, caller));
      }
      Object function = callee.eval(frame);
      return Expr.call(frame.render(), function, withCaller(frame, caller));
    }

    private Arguments withCaller(Frame frame, @Nullable Macro caller) {
      Arguments evaluated = arguments.eval(frame);
      return caller == null ? evaluated : evaluated.with(frame.render(), "caller", caller);
    }
  }

  /** Calls a value. */
  static @Nullable Object call(RenderContext render, @Nullable Object function, Arguments arguments) {
    return switch (function) {
      case Callable callable -> callable.call(render, arguments);
      case Undefined undefined -> throw undefined.refused();
      case null, default -> throw new TemplateException.Evaluation(
          "'" + Values.typeName(function) + "' object is not callable");
    };
  }

  /** {@code value | filter(arguments)}; {@code filter} is null where the language has none of that name. */
  record Filter(@Nullable Expr value, String name, Filters.@Nullable Filter filter, CallArguments arguments)
      implements Expr {
    @Override
    public @Nullable Object compute(Frame frame) {
      return apply(frame, value == null ? null : value.eval(frame));
    }

    @Nullable Object apply(Frame frame, @Nullable Object input) {
      frame.render().step();
      if (filter == null) {
        throw Filters.unknown(name);
      }
      return filter.apply(frame.render(), input, arguments.eval(frame));
    }
  }

  /** {@code value is test(arguments)}. */
  record Test(Expr value, String name, Tests.@Nullable Test test, CallArguments arguments) implements Expr {
    @Override
    public Object compute(Frame frame) {
      if (test == null) {
        throw Tests.unknown(name);
      }
      return test.apply(frame.render(), value.eval(frame), arguments.eval(frame));
    }
  }

  /** The arguments of a call as written; {@code star} and {@code starStar} are {@code *list} and {@code **dict}. */
  record CallArguments(List<Expr> positional, List<String> names, List<Expr> named, @Nullable Expr star,
      @Nullable Expr starStar) {
    static final CallArguments NONE = new CallArguments(List.of(), List.of(), List.of(), null, null);

    Arguments eval(Frame frame) {
      if (positional.isEmpty() && names.isEmpty() && star == null && starStar == null) {
        return Arguments.NONE;
      }
      frame.render().steps(positional.size() + names.size());
      @Nullable Object[] values = new Object[positional.size()];
      for (int i = 0; i < values.length; i++) {
        values[i] = positional.get(i).eval(frame);
      }
      if (star != null) {
        List<@Nullable Object> all = new ArrayList<>(Tuple.of(values));
        List<@Nullable Object> more = Values.list(frame.render(), star.eval(frame));
        frame.render().elements(more.size());
        all.addAll(more);
        values = all.toArray();
      }
      return new Arguments(values, keywords(frame));
    }

    private Map<String, @Nullable Object> keywords(Frame frame) {
      if (names.isEmpty() && starStar == null) {
        return Map.of();
      }
      Map<String, @Nullable Object> keywords = new LinkedHashMap<>();
      for (int i = 0; i < names.size(); i++) {
        keywords.put(names.get(i), named.get(i).eval(frame));
      }
      if (starStar != null) {
        if (!(starStar.eval(frame) instanceof Map<?, ?> map)) {
          throw new TemplateException.Evaluation("argument after ** must be a mapping");
        }
        for (Map.Entry<?, ?> entry : map.entrySet()) {
          String name = Values.text(entry.getKey());
          if (name == null) {
            throw new TemplateException.Evaluation("keywords must be strings");
          }
          frame.render().elements(2);
          frame.render().read(name.length());
          keywords.put(name, entry.getValue());
        }
      }
      return keywords;
    }
  }
}
