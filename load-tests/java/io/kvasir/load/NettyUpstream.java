package io.kvasir.load;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpClientCodec;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import java.io.IOException;
import java.util.Arrays;
import java.util.Deque;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/** Netty's codec with a pool of channels; what arrives goes to the waiting thread through a queue. */
final class NettyUpstream implements Upstream {
  /** Pieces that may wait before the channel stops reading. */
  private static final int WAITING = 16;

  private final MultiThreadIoEventLoopGroup loops = new MultiThreadIoEventLoopGroup(2, NioIoHandler.newFactory());
  private final Deque<Channel> idle = new ConcurrentLinkedDeque<>();
  private final Bootstrap bootstrap;

  NettyUpstream(int port) {
    bootstrap =
        new Bootstrap()
            .group(loops)
            .channel(NioSocketChannel.class)
            .option(ChannelOption.TCP_NODELAY, true)
            .remoteAddress("127.0.0.1", port)
            .handler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel.pipeline().addLast(new HttpClientCodec(), new Waiter());
                  }
                });
  }

  @Override
  public Reply ask(byte[] body) throws Exception {
    Channel channel = idle.pollLast();
    while (channel != null && !channel.isActive()) {
      channel = idle.pollLast();
    }
    if (channel == null) {
      channel = bootstrap.connect().sync().channel();
    }
    DefaultFullHttpRequest request =
        new DefaultFullHttpRequest(
            HttpVersion.HTTP_1_1, HttpMethod.POST, "/v1/chat/completions", Unpooled.wrappedBuffer(body));
    request
        .headers()
        .set(HttpHeaderNames.HOST, "127.0.0.1")
        .set(HttpHeaderNames.CONTENT_TYPE, "application/json")
        .set(HttpHeaderNames.CONTENT_LENGTH, body.length);
    Waiter waiter = channel.pipeline().get(Waiter.class);
    channel.writeAndFlush(request).addListener(sent -> waiter.sent(sent.cause()));
    if (!(waiter.arrived.take() instanceof Waiter.Head head)) {
      throw new IOException("the engine left");
    }
    return new NettyReply(channel, waiter, head);
  }

  private final class NettyReply implements Reply {
    private final Channel channel;
    private final Waiter waiter;
    private final Waiter.Head head;
    private byte[] current = new byte[0];
    private int position;
    private boolean ended;

    NettyReply(Channel channel, Waiter waiter, Waiter.Head head) {
      this.channel = channel;
      this.waiter = waiter;
      this.head = head;
    }

    @Override
    public boolean streams() {
      return !head.sized();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws Exception {
      while (position == current.length) {
        if (ended) {
          return -1;
        }
        switch (waiter.next(channel)) {
          case Waiter.Piece piece -> {
            current = piece.bytes();
            position = 0;
            if (piece.last()) {
              ended = true;
              idle.addLast(channel);
            }
          }
          case Waiter.Head again -> throw new IOException("a second head: " + again);
          case Waiter.Gone gone -> throw new IOException("the engine left: " + gone);
        }
      }
      int count = Math.min(length, current.length - position);
      System.arraycopy(current, position, bytes, offset, count);
      position += count;
      return count;
    }

    @Override
    public byte[] all() throws Exception {
      byte[] all = new byte[64 << 10];
      int size = 0;
      for (int n = read(all, 0, all.length); n >= 0; n = read(all, size, all.length - size)) {
        size += n;
      }
      return Arrays.copyOf(all, size);
    }

    @Override
    public void close() {
      if (!ended) {
        channel.close().addListener(closed -> waiter.arrived.clear());
      }
    }
  }

  /** The end of the pipeline: hands over to a thread. */
  private static final class Waiter extends SimpleChannelInboundHandler<HttpObject> {
    sealed interface Arrival {}

    record Head(boolean sized) implements Arrival {}

    record Piece(byte[] bytes, boolean last) implements Arrival {}

    record Gone(@Nullable Throwable why) implements Arrival {}

    private final LinkedBlockingQueue<Arrival> arrived = new LinkedBlockingQueue<>();

    void sent(@Nullable Throwable failure) {
      if (failure != null) {
        arrived.add(new Gone(failure));
      }
    }

    Arrival next(Channel channel) throws InterruptedException {
      Arrival next = arrived.take();
      if (arrived.size() < WAITING / 2 && !channel.config().isAutoRead()) {
        channel.config().setAutoRead(true);
      }
      return next;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, HttpObject object) {
      if (object instanceof HttpResponse response) {
        arrived.add(new Head(response.headers().contains(HttpHeaderNames.CONTENT_LENGTH)));
      }
      if (object instanceof HttpContent content) {
        ByteBuf buffer = content.content();
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        arrived.add(new Piece(bytes, content instanceof LastHttpContent));
      }
      if (arrived.size() > WAITING) {
        context.channel().config().setAutoRead(false);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      arrived.add(new Gone(null));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      arrived.add(new Gone(cause));
      context.close().addListener(closed -> arrived.add(new Gone(null)));
    }
  }

  @Override
  public void close() {
    loops.shutdownGracefully().syncUninterruptibly();
  }
}
