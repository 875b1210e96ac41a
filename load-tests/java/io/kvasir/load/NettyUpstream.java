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
                    channel.pipeline().addLast(new HttpClientCodec(), new ResponseHandler());
                  }
                });
  }

  @Override
  public Reply send(byte[] body) throws Exception {
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
    ResponseHandler waiter = channel.pipeline().get(ResponseHandler.class);
    channel.writeAndFlush(request).addListener(sent -> waiter.sent(sent.cause()));
    if (!(waiter.arrived.take() instanceof ResponseHandler.Head head)) {
      throw new IOException("the engine left");
    }
    return new NettyReply(channel, waiter, head);
  }

  private final class NettyReply implements Reply {
    private final Channel channel;
    private final ResponseHandler waiter;
    private final ResponseHandler.Head head;
    private byte[] current = new byte[0];
    private int position;
    private boolean ended;

    NettyReply(Channel channel, ResponseHandler waiter, ResponseHandler.Head head) {
      this.channel = channel;
      this.waiter = waiter;
      this.head = head;
    }

    @Override
    public boolean isStreaming() {
      return !head.sized();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws Exception {
      while (position == current.length) {
        if (ended) {
          return -1;
        }
        switch (waiter.next(channel)) {
          case ResponseHandler.Chunk piece -> {
            current = piece.bytes();
            position = 0;
            if (piece.last()) {
              ended = true;
              idle.addLast(channel);
            }
          }
          case ResponseHandler.Head again -> throw new IOException("a second head: " + again);
          case ResponseHandler.Closed closed -> throw new IOException("the engine closed the connection: " + closed);
        }
      }
      int count = Math.min(length, current.length - position);
      System.arraycopy(current, position, bytes, offset, count);
      position += count;
      return count;
    }

    @Override
    public byte[] readAll() throws Exception {
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
  private static final class ResponseHandler extends SimpleChannelInboundHandler<HttpObject> {
    sealed interface ResponseEvent {}

    record Head(boolean sized) implements ResponseEvent {}

    record Chunk(byte[] bytes, boolean last) implements ResponseEvent {}

    record Closed(@Nullable Throwable why) implements ResponseEvent {}

    private final LinkedBlockingQueue<ResponseEvent> arrived = new LinkedBlockingQueue<>();

    void sent(@Nullable Throwable failure) {
      if (failure != null) {
        arrived.add(new Closed(failure));
      }
    }

    ResponseEvent next(Channel channel) throws InterruptedException {
      ResponseEvent next = arrived.take();
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
        arrived.add(new Chunk(bytes, content instanceof LastHttpContent));
      }
      if (arrived.size() > WAITING) {
        context.channel().config().setAutoRead(false);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      arrived.add(new Closed(null));
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
      arrived.add(new Closed(cause));
      context.close().addListener(closed -> arrived.add(new Closed(null)));
    }
  }

  @Override
  public void close() {
    loops.shutdownGracefully().syncUninterruptibly();
  }
}
