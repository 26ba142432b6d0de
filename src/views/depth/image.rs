//! Price levels in the read model's image.

use super::{Depth, Ladder, Level, Levels};
use crate::image::{Sizes, hold};
use exchange::image::coding::{BadImage, ImageSink, ImageSource, Imaged, imaged};

imaged!(Level { price, quantity, orders });
imaged!(Ladder { up, down, last_trade });

impl Depth {
    /// Writes every market's levels.
    pub(crate) fn write(&self, sink: &mut impl ImageSink) {
        let Depth { ladders } = self;
        for ladder in ladders {
            ladder.is_some().write(sink);
            if let Some(ladder) = ladder {
                ladder.write(sink);
            }
        }
    }

    pub(crate) fn read(sizes: Sizes, source: &mut impl ImageSource) -> Result<Depth, BadImage> {
        let mut ladders = Vec::with_capacity(sizes.markets);
        for _ in 0..sizes.markets {
            let ladder = bool::read(source)?.then(|| Ladder::read(source)).transpose()?;
            if let Some(Ladder { up, down, last_trade: _ }) = &ladder {
                let worse = |levels: &Levels| levels.is_sorted_by(|a, b| a.price < b.price);
                let better = |levels: &Levels| levels.is_sorted_by(|a, b| a.price > b.price);
                hold(worse(up) && better(down), "price levels out of order")?;
                let stands = |level: &Level| !level.quantity.is_zero() && level.orders > 0;
                hold(up.iter().chain(down).all(stands), "a price level without orders")?;
            }
            ladders.push(ladder.map(Box::new));
        }
        Ok(Depth { ladders })
    }
}
