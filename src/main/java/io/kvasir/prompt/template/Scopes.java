package io.kvasir.prompt.template;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The analysis of a template's scopes, as Jinja2 compiles them: a name that a scope assigns before it reads it, and
 * that no scope around it knows, is undefined in the scopes inside until then, even where the request has a variable of
 * that name. Where a scope inside reads such a name, the scope's body is told of it ({@link Stmt.Block#unassigned}).
 */
final class Scopes {
  /** What is known of the names of a scope, or of one branch in it. */
  private static final class Symbols {
    /** The scope around this one. */
    private final @Nullable Symbols outer;
    /** The same scope, before the branch that this one is. */
    private final @Nullable Symbols before;
    /** The names that were met here; true for those that begin without a value. */
    private final Map<String, Boolean> names = new HashMap<>();
    private final Set<String> assigned = new HashSet<>();
    private final Set<String> readInside = new HashSet<>();

    Symbols(@Nullable Symbols outer, @Nullable Symbols before) {
      this.outer = outer;
      this.before = before;
    }

    boolean isOwn(String name) {
      for (Symbols part = this; part != null; part = part.before) {
        if (part.names.containsKey(name)) {
          return true;
        }
      }
      return false;
    }

    boolean isAssigned(String name) {
      for (Symbols part = this; part != null; part = part.before) {
        if (part.assigned.contains(name)) {
          return true;
        }
      }
      return false;
    }
  }

  private final RenderBudget budget;
  /** The scopes inside the current one, which are analysed once all of it is known. */
  private List<Runnable> inside = new ArrayList<>();

  private Scopes(RenderBudget budget) {
    this.budget = budget;
  }

  static void analyze(Stmt.Block root, RenderBudget budget) {
    new Scopes(budget).scope(root, null, List.of(), List.of());
  }

  /** A scope with parameters that are given, and expressions that it evaluates before its body. */
  private void scope(Stmt.Block body, @Nullable Symbols outer, List<String> parameters, List<Expr> first) {
    Symbols symbols = new Symbols(outer, null);
    List<Runnable> around = inside;
    inside = new ArrayList<>();
    parameters.forEach(name -> parameter(symbols, name));
    read(symbols, first);
    statements(symbols, body);
    inside.forEach(Runnable::run);
    inside = around;
    body.unassigned(symbols.readInside.stream().filter(symbols.names::get).sorted().toList());
  }

  private void statements(Symbols symbols, Stmt.Block block) {
    for (Stmt stmt : block.statements()) {
      statement(symbols, stmt);
    }
  }

  private void statement(Symbols symbols, Stmt stmt) {
    switch (stmt) {
      case Stmt.Data data -> {
        // Text.
      }
      case Stmt.Jump jump -> {
        // No names.
      }
      case Stmt.Print print -> read(symbols, List.of(print.value()));
      case Stmt.If branches -> branches(symbols, branches);
      case Stmt.Set set -> {
        read(symbols, List.of(set.value()));
        assign(symbols, set.target());
      }
      case Stmt.SetBlock set -> {
        assign(symbols, set.target());
        inside(symbols, set.body(), List.of(), set.filter() == null ? List.of() : List.of(set.filter()));
      }
      case Stmt.FilterBlock filter -> {
        read(symbols, List.of(filter.filter()));
        inside(symbols, filter.body(), List.of(), List.of());
      }
      case Stmt.For loop -> loop(symbols, loop);
      case Stmt.With with -> {
        read(symbols, with.values());
        List<String> names = new ArrayList<>();
        with.targets().forEach(target -> names(target, names));
        inside(symbols, with.body(), names, List.of());
      }
      case Stmt.Define macro -> {
        assign(symbols, macro.name());
        Macro.Definition definition = macro.definition();
        inside(symbols, definition.body(), definition.parameters(), definition.defaults());
      }
      case Stmt.CallBlock call -> {
        read(symbols, List.of(call.call()));
        inside(symbols, call.caller().body(), call.caller().parameters(), call.caller().defaults());
      }
      case Stmt.Generation generation -> inside(symbols, generation.body(), List.of(), List.of());
      case Stmt.Autoescape escape -> inside(symbols, escape.body(), List.of(), List.of(escape.enabled()));
      case Stmt.NamedBlock block -> inside(null, block.body(), List.of(), List.of());
    }
  }

  private void inside(@Nullable Symbols outer, Stmt.Block body, List<String> parameters, List<Expr> first) {
    budget.elements(2);
    inside.add(() -> scope(body, outer, parameters, first));
  }

  private void loop(Symbols symbols, Stmt.For loop) {
    read(symbols, List.of(loop.elements()));
    List<String> names = new ArrayList<>(List.of("loop"));
    names(loop.target(), names);
    inside(symbols, loop.body(), names, loop.condition() == null ? List.of() : List.of(loop.condition()));
    if (loop.orElse() != null) {
      inside(symbols, loop.orElse(), List.of(), List.of());
    }
  }

  /** As Jinja2 does it, where every elif is an if of its own within the one before. */
  private void branches(Symbols symbols, Stmt.If branches) {
    int conditions = branches.conditions().size();
    read(symbols, List.of(branches.conditions().getFirst()));
    Symbols body = new Symbols(symbols.outer, symbols);
    statements(body, branches.bodies().getFirst());
    Symbols elif = new Symbols(symbols.outer, symbols);
    for (int i = 1; i < conditions; i++) {
      read(elif, List.of(branches.conditions().get(i)));
      Symbols inner = new Symbols(elif.outer, elif);
      statements(inner, branches.bodies().get(i));
      merge(elif, List.of(inner));
    }
    Symbols otherwise = new Symbols(symbols.outer, symbols);
    if (branches.bodies().size() > conditions) {
      statements(otherwise, branches.bodies().getLast());
    }
    merge(symbols, List.of(body, elif, otherwise));
  }

  /** What only branches assign has the value from outside before. */
  private void merge(Symbols symbols, List<Symbols> branches) {
    Set<String> assigned = new HashSet<>();
    for (Symbols branch : branches) {
      assigned.addAll(branch.assigned);
    }
    assigned.removeIf(symbols::isAssigned);
    for (Symbols branch : branches) {
      budget.elements(2L * branch.names.size() + branch.assigned.size());
      symbols.names.putAll(branch.names);
      symbols.assigned.addAll(branch.assigned);
      symbols.readInside.addAll(branch.readInside);
    }
    assigned.forEach(name -> symbols.names.put(name, false));
  }

  private static void names(Stmt.Target target, Collection<String> names) {
    switch (target) {
      case Stmt.Target.Variable(String name) -> names.add(name);
      case Stmt.Target.Member member -> {
        // A namespace's attribute, not a name.
      }
      case Stmt.Target.Unpack(List<Stmt.Target> targets) -> targets.forEach(each -> names(each, names));
    }
  }

  private void assign(Symbols symbols, Stmt.Target target) {
    switch (target) {
      case Stmt.Target.Variable(String name) -> assign(symbols, name);
      case Stmt.Target.Member(String namespace, String name) -> read(symbols, namespace);
      case Stmt.Target.Unpack(List<Stmt.Target> targets) -> targets.forEach(each -> assign(symbols, each));
    }
  }

  private void parameter(Symbols symbols, String name) {
    budget.elements(2);
    symbols.assigned.add(name);
    symbols.names.put(name, false);
  }

  private void assign(Symbols symbols, String name) {
    budget.elements(2);
    symbols.assigned.add(name);
    if (!symbols.isOwn(name)) {
      symbols.names.put(name, !isOutside(symbols, name));
    }
  }

  private void read(Symbols symbols, String name) {
    if (!symbols.isOwn(name) && !isOutside(symbols, name)) {
      budget.elements(2);
      symbols.names.put(name, false);
    }
  }

  /** Whether a scope around this one knows the name, which that one is told. */
  private boolean isOutside(Symbols symbols, String name) {
    for (Symbols outer = symbols.outer; outer != null; outer = outer.outer) {
      budget.step();
      if (outer.isOwn(name)) {
        outer.readInside.add(name);
        return true;
      }
    }
    return false;
  }

  /** Reads the names of expressions. These may nest deeper than the stack. */
  private void read(Symbols symbols, List<? extends Expr> expressions) {
    Deque<Expr> open = new ArrayDeque<>(expressions);
    while (!open.isEmpty()) {
      budget.step();
      Expr expr = open.pop();
      if (expr instanceof Expr.Name(String name)) {
        read(symbols, name);
      } else {
        operands(expr, open);
      }
    }
  }

  /** Adds the expressions of which one is made. */
  static void operands(Expr expr, Deque<Expr> to) {
    switch (expr) {
      case Expr.Const constant -> {
        // No operands.
      }
      case Expr.Name name -> {
        // Nor here.
      }
      case Expr.Sequence sequence -> to.addAll(sequence.elements());
      case Expr.Dict dict -> {
        to.addAll(dict.keys());
        to.addAll(dict.values());
      }
      case Expr.Condition condition -> {
        to.push(condition.condition());
        to.push(condition.value());
        add(condition.otherwise(), to);
      }
      case Expr.Not not -> to.push(not.value());
      case Expr.Logic logic -> {
        to.push(logic.left());
        to.push(logic.right());
      }
      case Expr.Sign sign -> to.push(sign.value());
      case Expr.Arithmetic arithmetic -> {
        to.push(arithmetic.left());
        to.push(arithmetic.right());
      }
      case Expr.Concat concat -> to.addAll(concat.parts());
      case Expr.Compare compare -> {
        to.push(compare.first());
        to.addAll(compare.rest());
      }
      case Expr.Attribute attribute -> to.push(attribute.value());
      case Expr.Item item -> {
        to.push(item.value());
        to.push(item.index());
      }
      case Expr.Slice slice -> {
        to.push(slice.value());
        add(slice.start(), to);
        add(slice.stop(), to);
        add(slice.step(), to);
      }
      case Expr.Call call -> {
        to.push(call.callee());
        arguments(call.arguments(), to);
      }
      case Expr.Filter filter -> {
        add(filter.value(), to);
        arguments(filter.arguments(), to);
      }
      case Expr.Test test -> {
        to.push(test.value());
        arguments(test.arguments(), to);
      }
    }
  }

  private static void arguments(Expr.CallArguments arguments, Deque<Expr> to) {
    to.addAll(arguments.positional());
    to.addAll(arguments.named());
    add(arguments.star(), to);
    add(arguments.starStar(), to);
  }

  private static void add(@Nullable Expr expr, Deque<Expr> to) {
    if (expr != null) {
      to.push(expr);
    }
  }
}
