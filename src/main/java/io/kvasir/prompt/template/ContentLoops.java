package io.kvasir.prompt.template;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Whether a template has loops over the contents of messages. The first one that is found decides: vLLM stops at one
 * that has several variables ({@code for a, b in …}), and takes the template for one without.
 *
 * @param content a loop is over the content of a message
 * @param variable a loop is over that, or over a variable named {@code content}
 * @param macro a loop is over that, in a macro over what is given to it of a message's content, or outside of all
 *     macros over such a variable
 */
public record ContentLoops(boolean content, boolean variable, boolean macro) {
  static final ContentLoops NONE = new ContentLoops(false, false, false);

  private static final String CONTENT = "content";

  /** The loops of a template that has the messages in {@code lists}: {@link MessageLists}. */
  static ContentLoops of(Statements statements, Set<String> lists) {
    Set<String> messages = new HashSet<>();
    for (Stmt.For loop : statements.loops()) {
      String list = MessageLists.name(MessageLists.source(loop.elements()));
      if (list != null && lists.contains(list)) {
        if (!(loop.target() instanceof Stmt.Target.Variable(String name))) {
          return NONE;
        }
        messages.add(name);
      }
    }
    Predicate<Stmt.For> content = loop -> isContent(loop.elements(), messages);
    Predicate<Stmt.For> variable = loop -> loop.elements() instanceof Expr.Name(String name) && name.equals(CONTENT);
    IdentityHashMap<Stmt.Define, Set<String>> given = given(statements, messages);
    Predicate<Stmt.For> macro = loop -> statements.macros(loop).isEmpty() ? variable.test(loop)
        : loop.elements() instanceof Expr.Name(String name) && given(statements.macros(loop), given).contains(name);
    return new ContentLoops(first(statements, content), first(statements, content.or(variable)),
        first(statements, content.or(macro)));
  }

  /** Whether the first loop that is of a kind has one variable. */
  private static boolean first(Statements statements, Predicate<Stmt.For> kind) {
    return statements.loops().stream().filter(kind).findFirst()
        .filter(loop -> loop.target() instanceof Stmt.Target.Variable).isPresent();
  }

  /** Whether an expression is the content of a message that has one of these names, or a part of it. */
  static boolean isContent(Expr expr, Set<String> messages) {
    return content(MessageLists.source(expr)) instanceof Expr.Name message && messages.contains(message.name());
  }

  /** The value whose entry {@code content} an expression is. */
  private static @Nullable Expr content(@Nullable Expr expr) {
    return switch (expr) {
      case Expr.Attribute(Expr value, String name) when name.equals(CONTENT) -> value;
      case Expr.Item(Expr value, Expr.Const(Object index)) when CONTENT.equals(index) -> value;
      case null, default -> null;
    };
  }

  /** The parameters of the innermost of these macros that is given a message's content. */
  private static Set<String> given(List<Stmt.Define> macros, IdentityHashMap<Stmt.Define, Set<String>> given) {
    return macros.reversed().stream().map(macro -> given.getOrDefault(macro, Set.of()))
        .filter(parameters -> !parameters.isEmpty()).findFirst().orElse(Set.of());
  }

  /** Each macro's parameters to which a call gives a message's content. */
  private static IdentityHashMap<Stmt.Define, Set<String>> given(Statements statements, Set<String> messages) {
    Map<String, List<Stmt.Define>> byName =
        statements.macros().stream().collect(Collectors.groupingBy(Stmt.Define::name));
    IdentityHashMap<Stmt.Define, Set<String>> given = new IdentityHashMap<>();
    Deque<Expr> open = new ArrayDeque<>(statements.expressions());
    while (!open.isEmpty()) {
      Expr expr = open.pop();
      if (expr instanceof Expr.Call(Expr.Name(String name), Expr.CallArguments arguments)) {
        for (Stmt.Define macro : byName.getOrDefault(name, List.of())) {
          add(macro.definition().parameters(), arguments, messages,
              given.computeIfAbsent(macro, _ -> new HashSet<>()));
        }
      }
      Scopes.operands(expr, open);
    }
    return given;
  }

  private static void add(List<String> parameters, Expr.CallArguments arguments, Set<String> messages,
      Set<String> to) {
    for (int i = 0; i < Math.min(parameters.size(), arguments.positional().size()); i++) {
      if (isContent(arguments.positional().get(i), messages)) {
        to.add(parameters.get(i));
      }
    }
    for (int i = 0; i < arguments.names().size(); i++) {
      if (parameters.contains(arguments.names().get(i)) && isContent(arguments.named().get(i), messages)) {
        to.add(arguments.names().get(i));
      }
    }
  }
}
