package io.kvasir.prompt.template;

import java.util.List;

/** The tokens of a template, read from the front, and the parser's nesting depth. */
final class TokenStream {
  private static final int MAX_NESTING = 200;
  /** The most operators in a row: this and the nesting limit bound the stack that evaluation needs. */
  private static final int MAX_CHAIN = 500;

  private final List<Token> tokens;
  private final RenderBudget budget;
  private int at;
  private int nesting;

  TokenStream(List<Token> tokens, RenderBudget budget) {
    this.tokens = tokens;
    this.budget = budget;
  }

  Token peek() {
    return tokens.get(at);
  }

  Token peekNext() {
    return tokens.get(Math.min(at + 1, tokens.size() - 1));
  }

  Token next() {
    Token token = tokens.get(at);
    if (token.type() != Token.Type.END) {
      take();
    }
    return token;
  }

  /** Takes a token. Each makes a few nodes of the syntax tree at most. */
  private void take() {
    budget.elements(4);
    at++;
  }

  boolean skip(String operator) {
    boolean there = peek().is(operator);
    if (there) {
      take();
    }
    return there;
  }

  boolean skipName(String name) {
    boolean there = peek().isName(name);
    if (there) {
      take();
    }
    return there;
  }

  void expect(String operator) {
    if (!skip(operator)) {
      throw unexpected("'" + operator + "'");
    }
  }

  String expectName() {
    if (peek().type() != Token.Type.NAME) {
      throw unexpected("a name");
    }
    return next().text();
  }

  void expect(Token.Type type) {
    if (peek().type() != type) {
      throw unexpected(new Token(type, "", 0).describe());
    }
    take();
  }

  TemplateException.Syntax unexpected(String wanted) {
    return error("expected " + wanted + ", got " + peek().describe());
  }

  TemplateException.Syntax error(String message) {
    return new TemplateException.Syntax(message, peek().line());
  }

  void enter() {
    if (++nesting > MAX_NESTING) {
      throw error("nested more than " + MAX_NESTING + " deep");
    }
  }

  void leave() {
    nesting--;
  }

  void checkChain(int length) {
    if (length > MAX_CHAIN) {
      throw error("more than " + MAX_CHAIN + " operators in a row");
    }
  }

  /** Takes back the last token. */
  void back() {
    at--;
  }
}
