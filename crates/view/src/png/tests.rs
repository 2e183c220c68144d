//! Pixels of small scenes.

use super::*;
use crate::scene::{Items, Style};

const BLACK: Colour = Colour::rgb(0, 0, 0);

fn dark(pixmap: &Pixmap, x: u32, y: u32) -> bool {
    pixmap.pixel(x, y).unwrap().red() < 128
}

fn scene(items: Items) -> Scene {
    Scene {
        width: 40.0,
        height: 20.0,
        title: String::new(),
        items: items.into_vec(),
    }
}

#[test]
fn a_palette_holds_256_colours() {
    let pixels = |number: u32| -> Vec<u8> {
        let colour = |k: u32| [k as u8, (k >> 8) as u8, 7];
        (0..2 * number).flat_map(|k| colour(k % number)).collect()
    };
    let (colours, indices) = indexed::<3>(&pixels(256)).unwrap();
    assert_eq!((colours.len(), indices.len()), (256, 512));
    let back: Vec<u8> = indices
        .iter()
        .flat_map(|&index| colours[usize::from(index)])
        .collect();
    assert_eq!(back, pixels(256));
    assert_eq!(indexed::<3>(&pixels(257)), None);
}

/// At sizes that are no multiples of each other, clipped and beyond the paper's edges.
#[test]
fn copied_cells_are_what_drawing_makes_of_them() {
    let cell = |k: u32| (!k.is_multiple_of(3)).then(|| Colour::rgb(k as u8, (k >> 3) as u8, 90));
    let image = Image {
        columns: 37,
        rows: 23,
        cells: (0..37 * 23).map(cell).collect(),
    };
    let source = pixels(&image).unwrap();
    let mut mask = Mask::new(200, 150).unwrap();
    let path = PathBuilder::from_rect(Rect::from_xywh(20.3, 11.8, 90.9, 101.2).unwrap());
    mask.fill_path(&path, FillRule::Winding, false, Transform::identity());
    for (sx, sy, tx, ty) in [
        (3.37, 5.01, 7.7, 3.3),
        (0.61, 0.23, 50.5, 60.25),
        (1.0, 1.0, 3.0, 4.0),
        (9.9, 11.3, -40.0, -33.3),
    ] {
        let stretch = Transform::from_row(sx, 0.0, 0.0, sy, tx, ty);
        for mask in [None, Some(mask.clone())] {
            let mut pixmap = Pixmap::new(200, 150).unwrap();
            pixmap.fill(tiny_skia::Color::WHITE);
            let mut drawn = pixmap.clone();
            let paint = PixmapPaint {
                quality: FilterQuality::Nearest,
                ..PixmapPaint::default()
            };
            drawn.draw_pixmap(0, 0, source.as_ref(), &paint, stretch, mask.as_ref());
            let mut canvas = Canvas {
                pixmap,
                transform: Transform::identity(),
                mask,
            };
            canvas.copy_cells(&source, stretch).unwrap();
            assert!(canvas.pixmap == drawn, "{stretch:?}");
        }
    }
}

#[test]
fn a_clip_hides_what_lies_outside() {
    let mut inner = Items::default();
    let all = Frame {
        x: 0.0,
        y: 0.0,
        width: 40.0,
        height: 20.0,
    };
    inner.rectangle(all, BLACK);
    let mut items = Items::default();
    items.clip(
        Frame {
            x: 10.0,
            width: 10.0,
            ..all
        },
        inner,
    );
    let pixmap = draw(&scene(items), 1.0).unwrap();
    assert!(dark(&pixmap, 15, 10) && !dark(&pixmap, 5, 10) && !dark(&pixmap, 25, 10));
}

#[test]
fn one_cell_of_a_raster_is_one_sharp_rectangle() {
    let image = Image {
        columns: 4,
        rows: 2,
        cells: vec![None, Some(BLACK), None, None, None, None, None, None],
    };
    let mut items = Items::default();
    items.push(Item::Raster(
        Frame {
            x: 0.0,
            y: 0.0,
            width: 40.0,
            height: 20.0,
        },
        image,
    ));
    let pixmap = draw(&scene(items), 2.0).unwrap();
    let black = (0..80).flat_map(|x| (0..40).map(move |y| (x, y)));
    let black: Vec<_> = black.filter(|&(x, y)| dark(&pixmap, x, y)).collect();
    assert_eq!(black.len(), 20 * 20);
    assert_eq!(black[0], (20, 0));
}

#[test]
fn text_leaves_ink_where_it_is_anchored() {
    let style = Style {
        size: 12.0,
        bold: true,
        colour: BLACK,
    };
    let mut items = Items::default();
    items.text((40.0, 15.0), style, Anchor::End, "HH");
    let pixmap = draw(&scene(items), 1.0).unwrap();
    let ink: Vec<u32> = (0..40)
        .filter(|&x| (0..20).any(|y| dark(&pixmap, x, y)))
        .collect();
    assert!(ink.first().is_some_and(|&x| x > 15) && ink.last().is_some_and(|&x| x >= 35));
}

#[test]
fn a_picture_too_large_is_refused_and_says_so() {
    let huge = Scene {
        width: 1e9,
        height: 1e9,
        title: String::new(),
        items: Vec::new(),
    };
    let error = draw(&huge, 2.0).unwrap_err();
    assert!(error.to_string().contains("found a picture of"), "{error}");
}
